import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRandom, type RandomStream } from '../../../src/domain/random.ts';
import { ancestorsOf, differentiate } from '../../../trainer/graph/differentiate.ts';
import { createGraph, type Graph } from '../../../trainer/graph/graph.ts';
import type { Node, OpName } from '../../../trainer/graph/node.ts';
import * as ops from '../../../trainer/graph/ops.ts';
import { broadcastShapes } from '../../../trainer/graph/shape.ts';
import { mismatches, values } from './gradient-check.ts';
import { runOnce } from './plain-session.ts';
import { shapes } from './recipes.ts';
import { evaluatePlainly, type Plain } from './reference.ts';

/** Nodes that grow over this many elements (the batch counted as 3) are not built. */
const LARGEST = 60;
/** In float64, where the square of the step and rounding are far below the tolerance, and hardly a kink is met. */
const STEP = 1e-7;

/** What to build next: an op, and numbers that choose its operands among the nodes there are, and its axis. */
interface Instruction {
  readonly op: string;
  readonly left: number;
  readonly right: number;
  readonly axis: number;
}

/** Operands that do not fit give undefined, and the instruction is passed over. */
type Step = (g: Graph, a: Node, b: Node, axis: number) => Node | undefined;
const STEPS: Readonly<Record<string, Step>> = {
  add: stretching(ops.add),
  sub: stretching(ops.sub),
  mul: stretching(ops.mul),
  div: stretching((g, a, b) => ops.div(g, a, ops.add(g, ops.mul(g, b, b), 0.5))),
  min: stretching(ops.min),
  max: stretching(ops.max),
  where: stretching((g, a, b) => ops.where(g, ops.less(g, a, b), ops.mul(g, a, b), b)),
  broadcastLike: (g, a, _, axis) => {
    if (a.shape.length === 0) return undefined;
    const small = ops.reduceSum(g, a, [axis % a.shape.length], true);
    return ops.broadcastLike(g, ops.tanh(g, small), a);
  },
  tanh: (g, a) => ops.tanh(g, a),
  sigmoid: (g, a) => ops.sigmoid(g, a),
  exp: (g, a) => ops.exp(g, ops.tanh(g, a)),
  log: (g, a) => ops.log(g, ops.add(g, ops.mul(g, a, a), 0.5)),
  sqrt: (g, a) => ops.sqrt(g, ops.add(g, ops.mul(g, a, a), 0.5)),
  neg: (g, a) => ops.neg(g, a),
  abs: (g, a) => ops.abs(g, a),
  relu: (g, a) => ops.relu(g, a),
  clamp: (g, a) => ops.clamp(g, a, -0.7, 0.8),
  reduceSum: reducing(ops.reduceSum),
  reduceMean: reducing(ops.reduceMean),
  reduceMax: reducing(ops.reduceMax),
  softmax: (g, a) => (typeof a.shape.at(-1) === 'number' ? ops.softmax(g, a) : undefined),
  logSoftmax: (g, a) => (typeof a.shape.at(-1) === 'number' ? ops.logSoftmax(g, a) : undefined),
  transpose: (g, a, _, axis) => {
    const order = [...a.shape.keys()];
    return order.length < 2 ? undefined : ops.transpose(g, a, order.toSpliced(0, 1).toSpliced(axis, 0, 0));
  },
  flatten: (g, a) => {
    const fixed = a.shape.filter((dim) => typeof dim === 'number');
    const size = fixed.reduce((left, right) => left * right, 1);
    return ops.reshape(g, a, a.shape.includes('B') ? ['B', size] : [size]);
  },
  matmul: (g, a, b) => {
    // Against itself turned, or against the other one, whichever fits.
    const other = [b, a].find((each) => each.shape.length === 2 && each.shape[0] === a.shape.at(-1));
    if (a.shape.length < 2) return undefined;
    const isOneBatch = [...a.shape.slice(0, -1), other?.shape[1]].filter((dim) => dim === 'B').length < 2;
    return other === undefined || !isOneBatch ? undefined : ops.matmul(g, a, other);
  },
  gram: (g, a) => {
    const isOneBatch = a.shape.length >= 2 && a.shape.at(-2) !== 'B';
    return isOneBatch ? ops.matmul(g, a, ops.transpose(g, a)) : undefined;
  },
  outerSum: (g, a) => {
    const rows = a.shape.length === 1 ? ops.unsqueeze(g, a, 0) : a;
    return typeof rows.shape.at(-1) === 'number' && rows.shape.length > 1
      ? ops.outerSum(g, rows, ops.tanh(g, rows))
      : undefined;
  },
  slice: alongAxis((g, a, axis, length) => ops.slice(g, a, axis, length > 1 ? 1 : 0, length)),
  pad: alongAxis((g, a, axis) => ops.pad(g, a, axis, 1, 0)),
  split: alongAxis((g, a, axis, length) => {
    if (length === 1) return undefined;
    const [first, rest] = ops.split(g, a, axis, [1, length - 1]);
    return ops.add(g, ops.tanh(g, first!), ops.mul(g, rest!, rest!));
  }),
  concat: alongAxis((g, a, axis) => ops.concat(g, [a, ops.mul(g, a, a), a], axis)),
  gatherRows: (g, a) => {
    const isTable = a.shape.length === 2 && !a.shape.includes('B');
    return isTable ? ops.gatherRows(g, a, g.constant(Int32Array.of(0, 0), [2])) : undefined;
  },
  pick: (g, a) =>
    a.shape.length === 1 && a.shape[0] !== 'B' ? ops.pick(g, a, g.scalar(0, 'i32')) : undefined,
};

function stretching(build: (g: Graph, a: Node, b: Node) => Node): Step {
  return (g, a, b) => {
    const shape = broadcastShapes([a.shape, b.shape]);
    const fits = shape !== undefined && shape.filter((dim) => dim === 'B').length < 2;
    return fits ? build(g, a, b) : undefined;
  };
}

function reducing(build: (g: Graph, a: Node, axes: readonly number[], keep: boolean) => Node): Step {
  return (g, a, b, axis) =>
    a.shape.length === 0 ? undefined : build(g, a, [axis % a.shape.length], b.shape.length % 2 === 0);
}

function alongAxis(build: (g: Graph, a: Node, axis: number, length: number) => Node | undefined): Step {
  return (g, a, _, axis) => {
    const at = a.shape.length === 0 ? 0 : axis % a.shape.length;
    const length = a.shape[at];
    return typeof length === 'number' ? build(g, a, at, length) : undefined;
  };
}

const instruction: fc.Arbitrary<Instruction> = fc.record({
  op: fc.constantFrom(...Object.keys(STEPS)),
  left: fc.nat({ max: 9 }),
  right: fc.nat({ max: 9 }),
  axis: fc.nat({ max: 3 }),
});
const program = fc.record({
  parameters: fc.array(
    shapes().filter((shape) => !shape.includes('B')),
    { minLength: 2, maxLength: 3 },
  ),
  rows: shapes(1).filter((shape) => shape.includes('B')),
  instructions: fc.array(instruction, { minLength: 1, maxLength: 14, size: 'max' }),
  batch: fc.integer({ min: 1, max: 3 }),
  seed: fc.nat(),
});
type Program = typeof program extends fc.Arbitrary<infer T> ? T : never;

test('gradients of random compositions are the slopes of their plain evaluation', async () => {
  const seen = new Map<OpName, number>();
  let compared = 0;
  const property = fc.asyncProperty(program, async (drawn) => {
    const composition = compose(drawn);
    for (const { op } of ancestorsOf([composition.loss])) seen.set(op, (seen.get(op) ?? 0) + 1);
    compared += composition.parameters.length;
    expect(await differences(composition, drawn.batch)).toEqual([]);
  });
  await fc.assert(property, { seed: 20_261_130, numRuns: 150 });
  expect(compared).toBeGreaterThan(150);
  const wanted: OpName[] = ['add', 'mul', 'div', 'max', 'where', 'broadcast', 'reduceSum', 'reduceMean'];
  wanted.push('reduceMax', 'matmul', 'outerSum', 'slice', 'pad', 'concat', 'transpose', 'softmax', 'reshape');
  expect(wanted.filter((op) => (seen.get(op) ?? 0) < 10)).toEqual([]);
});

interface Composition {
  readonly g: Graph;
  readonly loss: Node;
  /** Those that the loss depends on. */
  readonly parameters: readonly Node[];
  readonly tensors: Readonly<Record<string, Plain>>;
}

function compose({ parameters: shapesOf, rows, instructions, batch, seed }: Program): Composition {
  const g = createGraph();
  const random = createRandom(seed);
  const tensors: Record<string, Plain> = {};
  const draw = (name: string, dims: readonly number[]): void => {
    tensors[name] = uniform(dims, random);
  };
  const nodes: Node[] = shapesOf.map((shape, index) => {
    const dims = shape.map(Number);
    draw(`p${index}`, dims);
    return g.parameter(`p${index}`, dims);
  });
  draw(
    'rows',
    rows.map((dim) => (typeof dim === 'string' ? batch : dim)),
  );
  nodes.push(g.input('rows', 'f32', rows));
  for (const { op, left, right, axis } of instructions) {
    // The newest nodes come first, so that compositions grow deep.
    const [a, b] = [nodes.at(-1 - (left % nodes.length))!, nodes.at(-1 - (right % nodes.length))!];
    const node = STEPS[op]!(g, a, b, axis);
    const size =
      node?.shape.reduce<number>((product, dim) => product * (typeof dim === 'string' ? 3 : dim), 1) ?? 0;
    if (node !== undefined && size <= LARGEST) nodes.push(node);
  }
  // The tanh keeps the loss small, whatever was multiplied, and makes the weights of the elements differ.
  const parts = nodes.slice(-4).map((node) => ops.reduceMean(g, ops.tanh(g, node)));
  const loss = parts.reduce((sum, part, index) => ops.add(g, sum, ops.mul(g, part, index + 1)));
  const needed = new Set(ancestorsOf([loss]));
  return { g, loss, parameters: nodes.slice(0, shapesOf.length).filter((each) => needed.has(each)), tensors };
}

function uniform(shape: readonly number[], random: RandomStream): Plain {
  const size = shape.reduce((product, dim) => product * dim, 1);
  return {
    dtype: 'f32',
    shape,
    data: Array.from({ length: size }, () => Math.fround(random.next() * 3 - 1.5)),
  };
}

/** A line for each element of a gradient, as onnxruntime gives it, that is not the slope of the plain evaluation. */
async function differences({ g, loss, parameters, tensors }: Composition, batch: number): Promise<string[]> {
  const found: string[] = [];
  const gradients = differentiate(g, loss, parameters);
  const outputs = Object.fromEntries(gradients.map((gradient, index) => [`gradient ${index}`, gradient]));
  const results = await runOnce({ loss, ...outputs }, tensors);
  const lossAt = (changed: Readonly<Record<string, Plain>>): number =>
    evaluatePlainly([loss], { batch, tensors: { ...tensors, ...changed } }).get(loss)!.data[0]!;
  found.push(...mismatches(values(results['loss']), [lossAt({})], 1e-4, 'loss'));
  for (const [index, parameter] of parameters.entries()) {
    if (parameter.op !== 'parameter') continue;
    const { name } = parameter.attributes;
    const tensor = tensors[name]!;
    const slopes = tensor.data.map((value, at) => {
      const [above, below] = [value + STEP, value - STEP].map((moved) =>
        lossAt({ [name]: { ...tensor, data: tensor.data.with(at, moved) } }),
      );
      return (above! - below!) / (2 * STEP);
    });
    found.push(...mismatches(values(results[`gradient ${index}`]), slopes, 1e-3, `gradient in ${name}`));
  }
  return found;
}
