import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Graph } from '../../../trainer/graph/graph.ts';
import type { Node } from '../../../trainer/graph/node.ts';
import * as ops from '../../../trainer/graph/ops.ts';
import { broadcastShapes } from '../../../trainer/graph/shape.ts';
import { awayFromZero, floats, GradientCheck, ints, mismatches, uniform, values } from './gradient-check.ts';

type Build = (g: Graph, x: Node) => Node;
const UNARY: Record<string, readonly [Build, (x: number) => number]> = {
  neg: [ops.neg, (x) => -x],
  exp: [ops.exp, Math.exp],
  log: [ops.log, Math.log],
  sqrt: [ops.sqrt, Math.sqrt],
  abs: [ops.abs, Math.abs],
  tanh: [ops.tanh, Math.tanh],
  sigmoid: [ops.sigmoid, (x) => 1 / (1 + Math.exp(-x))],
  relu: [ops.relu, (x) => Math.max(x, 0)],
};

test('unary ops give what Math gives, and their gradients are the slopes', async () => {
  const check = new GradientCheck();
  const wanted = new Map<string, number[]>();
  for (const [name, [op, reference]] of Object.entries(UNARY)) {
    const positive = name === 'log' || name === 'sqrt';
    const input = floats([2, 3], () => (positive ? Math.abs(awayFromZero()) + 0.3 : awayFromZero()));
    check.add(name, [input], (x) => op(check.g, x));
    wanted.set(name, values(input).map(reference));
  }
  const verdict = await check.verify({ batch: 1 });
  expect(verdict.mismatches).toEqual([]);
  for (const [name, numbers] of wanted) {
    expect(mismatches(values(verdict.results[name]), numbers, 1e-6, name)).toEqual([]);
  }
});

test('shape ops, products, reductions and softmaxes have the slopes as gradients', async () => {
  const check = new GradientCheck();
  const { g } = check;
  check.add('clamp', [floats([6], (i) => [-2, -0.9, -0.3, 0.4, 0.8, 2][i]!)], (x) =>
    ops.clamp(g, x, -0.6, 0.6),
  );
  check.add('stop', [floats([3])], (x) => ops.mul(g, x, ops.exp(g, x)));
  check.add('matmul', [floats([2, 3]), floats([3, 4])], (a, b) => ops.matmul(g, a, b));
  check.add('matmul with leading axes', [floats([2, 2, 3]), floats([3, 2])], (a, b) => ops.matmul(g, a, b));
  check.add('batched matmul', [floats([2, 2, 3]), floats([2, 3, 2])], (a, b) => ops.matmul(g, a, b));
  check.add('outerSum', [floats([2, 2, 3]), floats([2, 2, 2])], (a, b) => ops.outerSum(g, a, b));
  check.add('transpose', [floats([2, 3])], (x) => ops.transpose(g, x));
  check.add('transpose of three', [floats([2, 3, 2])], (x) => ops.transpose(g, x, [2, 0, 1]));
  check.add('reshape', [floats([2, 6])], (x) => ops.reshape(g, x, [3, 4]));
  check.add('squeeze', [floats([2, 1, 2])], (x) => ops.unsqueeze(g, ops.squeeze(g, x, [1]), 0));
  check.add('broadcast', [floats([2, 1])], (x) =>
    ops.broadcastLike(g, x, g.constant(new Float32Array(12), [2, 2, 3])),
  );
  check.add('concat', [floats([2, 1]), floats([2, 3])], (a, b) => ops.concat(g, [a, b, a], -1));
  check.add('slice', [floats([2, 5])], (x) => ops.slice(g, x, 1, 1, 3));
  check.add('pad', [floats([2, 2])], (x) => ops.pad(g, x, 0, 1, 2));
  check.add('index', [floats([3, 2])], (x) => ops.mul(g, ops.index(g, x, 0, 1), ops.index(g, x, 0, 2)));
  check.add('split', [floats([2, 5])], (x) => {
    const [a, b] = ops.split(g, x, 1, [2, 3]);
    return ops.add(g, ops.reduceSum(g, ops.tanh(g, a!), [1]), ops.reduceSum(g, ops.exp(g, b!), [1]));
  });
  check.add('reduceSum', [floats([2, 3, 2])], (x) => ops.reduceSum(g, ops.exp(g, x), [0, -1]));
  check.add('reduceSum keeping', [floats([2, 3])], (x) => ops.reduceSum(g, x, [1], true));
  check.add('reduceMean', [floats([2, 3])], (x) => ops.reduceMean(g, ops.exp(g, x)));
  check.add('reduceMax', [floats([2, 3], (i) => [1, 5, 3, 9, 2, 4][i]!)], (x) => ops.reduceMax(g, x, [1]));
  check.add('softmax', [floats([2, 4])], (x) => ops.softmax(g, x));
  check.add('logSoftmax', [floats([2, 4])], (x) => ops.logSoftmax(g, x));
  check.add('gatherRows', [floats([4, 2])], (t) =>
    ops.gatherRows(g, t, g.constant(Int32Array.of(1, 3, 1, 1), [2, 2])),
  );
  check.add('scatterAddRows', [floats([3, 2]), floats([4, 2])], (base, updates) =>
    ops.scatterAddRows(g, base, g.constant(Int32Array.of(2, 0, 2, 2), [4]), updates),
  );
  check.add('pick', [floats([3, 4])], (x) => ops.pick(g, x, g.constant(Int32Array.of(3, 0, 2), [3])));
  const verdict = await check.verify({ batch: 1 });
  expect(verdict.mismatches).toEqual([]);
  expect(
    mismatches(values(verdict.results['clamp']), [-0.6, -0.6, -0.3, 0.4, 0.6, 0.6], 1e-6, 'clamp'),
  ).toEqual([]);
  expect(mismatches(values(verdict.results['reduceMax']), [5, 9], 0, 'reduceMax')).toEqual([]);
});

type BuildBinary = (g: Graph, a: Node, b: Node) => Node;
const BINARY: Record<string, readonly [BuildBinary, (a: number, b: number) => number]> = {
  add: [ops.add, (a, b) => a + b],
  sub: [ops.sub, (a, b) => a - b],
  mul: [ops.mul, (a, b) => a * b],
  div: [ops.div, (a, b) => a / b],
  min: [ops.min, Math.min],
  max: [ops.max, Math.max],
};
const operand = fc.array(fc.constantFrom(1, 2, 3), { maxLength: 3 });
const pairs = fc.tuple(operand, operand).filter(([a, b]) => broadcastShapes([a, b]) !== undefined);

test('binary ops broadcast as NumPy does, forward and backward, for any shapes that fit', async () => {
  const check = new GradientCheck();
  const wanted = new Map<string, number[]>();
  for (const [number, [a, b]] of fc.sample(pairs, { numRuns: 30, seed: 7 }).entries()) {
    for (const [op, [build, reference]] of Object.entries(BINARY)) {
      const name = `${op} [${a.join()}] [${b.join()}] #${number}`;
      // Multiples of 0.2 against odd multiples of 0.1: never equal, and never near zero as a divisor.
      const left = floats(a, () => Math.round(uniform() * 5) / 5);
      const right = floats(
        b,
        () => (uniform() > 0 ? 1 : -1) * (Math.round(Math.abs(uniform()) * 5) / 5 + 0.7),
      );
      check.add(name, [left, right], (x, y) => build(check.g, x, y));
      wanted.set(name, broadcastReference([a, values(left)], [b, values(right)], reference));
    }
  }
  const verdict = await check.verify({ batch: 1, tolerance: 1e-2 });
  expect(verdict.mismatches).toEqual([]);
  for (const [name, numbers] of wanted) {
    expect(mismatches(values(verdict.results[name]), numbers, 1e-6, name)).toEqual([]);
  }
});

test('where sends the gradient to the side chosen, and to neither through the condition', async () => {
  const check = new GradientCheck();
  const { g } = check;
  check.add('where', [floats([2, 3]), floats([3])], (a, b) =>
    ops.where(g, g.constant(Uint8Array.of(1, 0, 1, 0, 0, 1), [2, 3]), a, b),
  );
  check.add('where by comparison', [floats([6], awayFromZero)], (x) =>
    ops.where(g, ops.greater(g, x, 0), ops.mul(g, x, x), 0.5),
  );
  check.add('where of a number', [floats([4])], (x) =>
    ops.where(g, g.constant(Uint8Array.of(1, 0, 0, 1), [4]), -3, x),
  );
  const verdict = await check.verify({ batch: 1 });
  expect(verdict.mismatches).toEqual([]);
  expect(values(verdict.results['where of a number']).map((value) => value === -3)).toEqual([
    true,
    false,
    false,
    true,
  ]);
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

type Flat = readonly [shape: readonly number[], data: readonly number[]];

function broadcastReference(a: Flat, b: Flat, op: (a: number, b: number) => number): number[] {
  const shape = broadcastShapes([a[0], b[0]])!.map(Number);
  const size = shape.reduce((left, right) => left * right, 1);
  const element = ([dims, data]: Flat, flat: number): number => {
    let [rest, stride, at] = [flat, 1, 0];
    for (let axis = 1; axis <= shape.length; axis++) {
      const position = rest % shape.at(-axis)!;
      rest = Math.floor(rest / shape.at(-axis)!);
      const dim = dims.at(-axis) ?? 1;
      if (axis <= dims.length && dim > 1) at += position * stride;
      stride *= dim;
    }
    return data[at]!;
  };
  return Array.from({ length: size }, (_, flat) => op(element(a, flat), element(b, flat)));
}
