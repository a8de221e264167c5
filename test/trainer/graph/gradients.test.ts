import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ancestorsOf } from '../../../trainer/graph/differentiate.ts';
import { gradientsOf, hasGradient } from '../../../trainer/graph/gradients.ts';
import { createGraph } from '../../../trainer/graph/graph.ts';
import type { OpName } from '../../../trainer/graph/node.ts';
import * as ops from '../../../trainer/graph/ops.ts';
import { OP_NAMES } from '../../../trainer/graph/shape-rules.ts';
import { BATCH, BATCH_FEEDS, GRADIENT_CASES, type GradientCase } from './gradient-cases.ts';
import { floats, GradientCheck, ints, uniform } from './gradient-check.ts';
import { stretchable } from './recipes.ts';

/** They have a rule, and it lets nothing through. */
const STOPPING: ReadonlySet<OpName> = new Set<OpName>(['stopGradient', 'batchSize', 'biasCorrection']);

test('the gradients of every op are the slopes, on stretched operands and on the batch too', async () => {
  const check = new GradientCheck();
  for (const { name, tensors, build } of Object.values(GRADIENT_CASES).flatMap((cases) => cases ?? [])) {
    check.add(name, tensors, (...parameters) => build(check.g, ...parameters));
  }
  const verdict = await check.verify({ batch: BATCH, feeds: BATCH_FEEDS });
  expect(verdict.mismatches).toEqual([]);
});

test('every op has cases above for each input that gets a gradient, or lets none through', () => {
  const missing: string[] = [];
  for (const op of OP_NAMES) {
    const cases = GRADIENT_CASES[op];
    const isStopping = !hasGradient(op) || STOPPING.has(op);
    if (isStopping !== (cases === null)) missing.push(`${op}: a case exactly if a gradient flows`);
    if (cases === null) continue;
    const positions = cases.flatMap((each) => gradientPositions(op, each));
    if (positions.length === 0) missing.push(`${op}: no case builds it`);
    for (const { position } of positions) {
      const isCovered = positions.some((each) => each.position === position && each.isReached);
      if (!isCovered) missing.push(`${op}: input ${position}`);
    }
  }
  expect(missing).toEqual([]);
});

/** The inputs of an op's nodes in a case to which its rule sends a gradient, and whether a parameter is behind them. */
function gradientPositions(op: OpName, { tensors, build }: GradientCase) {
  const g = createGraph();
  const parameters = tensors.map(({ shape }, index) => g.parameter(`${index}`, shape));
  const nodes = ancestorsOf([build(g, ...parameters)]).filter((node) => node.op === op);
  return nodes.flatMap((node) => {
    const dy = g.input(`dy${node.id}`, 'f32', node.shape);
    return (gradientsOf(g, node, dy) ?? []).flatMap((gradient, position) => {
      const behind = ancestorsOf([node.inputs[position]!]);
      return gradient === null
        ? []
        : [{ position, isReached: behind.some((each) => each.op === 'parameter') }];
    });
  });
}

test('ops that let nothing through do not, and the other ways to a parameter stay open', async () => {
  const check = new GradientCheck();
  const { g } = check;
  const x = g.input('x', 'f32', ['B', 2]);
  const step = g.input('step', 'f32', []);
  check.add('batchSize', [floats([2])], (p) =>
    ops.mul(g, p, ops.batchSize(g, ops.mul(g, x, ops.stopGradient(g, p)))),
  );
  check.add('biasCorrection', [floats([])], (p) =>
    ops.mul(g, p, g.node('biasCorrection', [step], { beta: 0.9 })),
  );
  const verdict = await check.verify({ batch: 3, feeds: { x: floats([3, 2]), step: floats([], () => 2) } });
  expect(verdict.mismatches).toEqual([]);
});

const BINARY = { add: ops.add, sub: ops.sub, mul: ops.mul, div: ops.div, min: ops.min, max: ops.max };
const pairs = stretchable(2).filter((shapes) => !shapes.flat().includes('B'));

test('binary ops have the slopes as gradients for any two shapes that stretch to one another', async () => {
  const check = new GradientCheck();
  for (const [number, shapes] of fc.sample(pairs, { numRuns: 25, seed: 7 }).entries()) {
    const [a, b] = shapes.map((shape) => shape.map(Number));
    for (const [op, build] of Object.entries(BINARY)) {
      // Multiples of 0.2 against odd multiples of 0.1: never equal, and never near zero as a divisor.
      const left = floats(a!, () => Math.round(uniform() * 5) / 5);
      const right = floats(
        b!,
        () => (uniform() > 0 ? 1 : -1) * (Math.round(Math.abs(uniform()) * 5) / 5 + 0.7),
      );
      check.add(`${op} [${a!.join()}] [${b!.join()}] #${number}`, [left, right], (x, y) =>
        build(check.g, x, y),
      );
    }
  }
  expect((await check.verify({ batch: 1, tolerance: 1e-2 })).mismatches).toEqual([]);
});

test('gradients go through the batch axis, whatever its length', async () => {
  for (const batch of [1, 2, 5]) {
    const check = new GradientCheck();
    const { g } = check;
    const x = g.input('x', 'f32', ['B', 3]);
    const ids = g.input('ids', 'i32', ['B', 2]);
    check.add('linear', [floats([3, 2]), floats([2])], (w, b) =>
      ops.tanh(g, ops.add(g, ops.matmul(g, x, w), b)),
    );
    check.add('mean over the batch', [floats([3])], (p) =>
      ops.reduceMean(g, ops.exp(g, ops.mul(g, x, p)), [0]),
    );
    check.add('mean of all', [floats([3])], (p) =>
      ops.neg(g, ops.reduceMean(g, ops.mul(g, ops.mul(g, x, p), p))),
    );
    check.add('centred', [floats([3])], (p) => {
      const y = ops.mul(g, x, p);
      return ops.mul(g, ops.sub(g, y, ops.reduceMean(g, y, [0], true)), y);
    });
    check.add('stretched to the batch', [floats([1, 3])], (p) => ops.exp(g, ops.broadcastLike(g, p, x)));
    check.add('embedding', [floats([5, 3])], (table) => ops.reduceSum(g, ops.gatherRows(g, table, ids), [1]));
    check.add('log-probability', [floats([3, 4])], (w) =>
      ops.pick(g, ops.logSoftmax(g, ops.matmul(g, x, w)), ops.index(g, ids, 1, 0)),
    );
    check.add('attention', [floats([3, 3]), floats([5, 3])], (w, table) => {
      const keys = ops.gatherRows(g, table, ids);
      const query = ops.unsqueeze(g, ops.matmul(g, x, w), -1);
      return ops.softmax(g, ops.squeeze(g, ops.matmul(g, keys, query), [-1]));
    });
    const feeds = {
      x: floats([batch, 3]),
      ids: ints(
        [batch, 2],
        Array.from({ length: batch * 2 }, (_, i) => (i * 3) % 4),
      ),
    };
    const verdict = await check.verify({ batch, feeds });
    expect(verdict.mismatches).toEqual([]);
    expect(verdict.results['attention']?.shape).toEqual([batch, 2]);
  }
});
