import type { Graph } from '../../../trainer/graph/graph.ts';
import type { ArithmeticName, Node, OpName, Shape, UnaryName } from '../../../trainer/graph/node.ts';
import * as ops from '../../../trainer/graph/ops.ts';
import type { SessionTensor, Tensors } from '../../../trainer/session.ts';
import { awayFromZero, floats, ints, uniform } from './gradient-check.ts';

/** A result whose gradients in some parameters are compared with finite differences. */
export interface GradientCase {
  readonly name: string;
  /** The parameters' values. */
  readonly tensors: readonly SessionTensor[];
  readonly build: (g: Graph, ...parameters: Node[]) => Node;
}

/** Length of the batch in the cases, and what is fed to the inputs that have it. */
export const BATCH = 4;
export const BATCH_FEEDS: Tensors = {
  rows: floats([BATCH, 3], awayFromZero),
  column: floats([BATCH, 1], awayFromZero),
  ids: ints([BATCH, 2], [0, 2, 2, 1, 0, 0, 1, 2]),
};

function rows(g: Graph): Node {
  return inputOf(g, 'rows', 'f32', ['B', 3]);
}

function column(g: Graph): Node {
  return inputOf(g, 'column', 'f32', ['B', 1]);
}

function ids(g: Graph): Node {
  return inputOf(g, 'ids', 'i32', ['B', 2]);
}

const inputs = new WeakMap<Graph, Map<string, Node>>();

/** An input that all cases of a graph share. */
function inputOf(g: Graph, name: string, dtype: 'f32' | 'i32', shape: Shape): Node {
  const known = inputs.get(g) ?? new Map<string, Node>();
  inputs.set(g, known);
  const node = known.get(name) ?? g.input(name, dtype, shape);
  known.set(name, node);
  return node;
}

const small = (): number => 0.3 * awayFromZero();
const large = (): number => (uniform() > 0 ? 1 : -1) * (0.6 + 0.5 * Math.abs(uniform()));

const STRETCHED: readonly (readonly [readonly number[], readonly number[]])[] = [
  [
    [2, 3],
    [2, 3],
  ],
  [[2, 3], [3]],
  [[1], [2, 3]],
  [[], [2, 3]],
  [[2, 3], []],
  [
    [2, 1],
    [1, 3],
  ],
  [
    [3, 1, 2],
    [2, 1],
  ],
  [[1, 1], [1]],
  [[], []],
];

/**
 * Cases of each op, so that each of its inputs through which a gradient flows is reached from a parameter; null for an op
 * that has no rule or whose rule lets nothing through.
 */
export const GRADIENT_CASES: { readonly [K in OpName]: readonly GradientCase[] | null } = {
  input: null,
  parameter: null,
  constant: null,
  zeros: null,
  add: binary('add', ops.add),
  sub: binary('sub', ops.sub),
  mul: binary('mul', ops.mul),
  div: binary('div', ops.div),
  min: binary('min', ops.min),
  max: binary('max', ops.max),
  less: null,
  lessOrEqual: null,
  greater: null,
  greaterOrEqual: null,
  equal: null,
  and: null,
  not: null,
  neg: unary('neg', ops.neg),
  exp: unary('exp', ops.exp),
  log: unary('log', ops.log),
  sqrt: unary('sqrt', ops.sqrt),
  abs: unary('abs', ops.abs),
  sign: null,
  tanh: unary('tanh', ops.tanh),
  sigmoid: unary('sigmoid', ops.sigmoid),
  relu: unary('relu', ops.relu),
  stopGradient: null,
  cast: null,
  clamp: [
    {
      name: 'clamp, below, within and above',
      tensors: [floats([6], (i) => [-2, -0.9, -0.3, 0.4, 0.8, 2][i]!)],
      build: (g, x) => ops.clamp(g, x, -0.6, 0.6),
    },
    {
      name: 'clamp of the batch by a node',
      tensors: [floats([3], awayFromZero)],
      build: (g, p) => ops.clamp(g, ops.mul(g, rows(g), p), -1.5, g.scalar(0.31)),
    },
  ],
  where: [
    {
      name: 'where, the second stretched',
      tensors: [floats([2, 3]), floats([3])],
      build: (g, a, b) => ops.where(g, g.constant(Uint8Array.of(1, 0, 1, 0, 0, 1), [2, 3]), a, b),
    },
    {
      name: 'where, both stretched by the condition',
      tensors: [floats([2, 1]), floats([])],
      build: (g, a, b) => ops.where(g, g.constant(Uint8Array.of(1, 0, 1, 0, 0, 1), [2, 3]), a, b),
    },
    {
      name: 'where, over the batch',
      tensors: [floats([1, 3]), floats([1])],
      build: (g, a, b) =>
        ops.where(g, ops.greater(g, rows(g), 0), ops.mul(g, column(g), a), ops.mul(g, column(g), b)),
    },
    {
      name: 'where by a comparison',
      tensors: [floats([6], awayFromZero)],
      build: (g, x) => ops.where(g, ops.greater(g, x, 0), ops.mul(g, x, x), 0.5),
    },
  ],
  matmul: [
    pair('matmul', [2, 3], [3, 4], ops.matmul),
    pair('matmul with leading axes', [2, 2, 3], [3, 2], ops.matmul),
    pair('matmul batched', [2, 2, 3], [2, 3, 2], ops.matmul),
    {
      name: 'matmul of the batch',
      tensors: [floats([3]), floats([3, 2])],
      build: (g, p, w) => ops.matmul(g, ops.mul(g, rows(g), p), w),
    },
    {
      name: 'matmul that sums over the batch',
      tensors: [floats([3]), floats([1])],
      build: (g, p, q) => ops.matmul(g, ops.transpose(g, ops.mul(g, rows(g), p)), ops.mul(g, column(g), q)),
    },
    {
      name: 'matmul with the batch last',
      tensors: [floats([2, 2, 3]), floats([3])],
      build: (g, a, p) => ops.matmul(g, a, ops.transpose(g, ops.mul(g, rows(g), p))),
    },
  ],
  outerSum: [
    pair('outerSum', [2, 2, 3], [2, 2, 2], ops.outerSum),
    {
      name: 'outerSum over the batch',
      tensors: [floats([3]), floats([1])],
      build: (g, p, q) => ops.outerSum(g, ops.mul(g, rows(g), p), ops.mul(g, column(g), q)),
    },
  ],
  transpose: [
    single('transpose', [2, 3], (g, x) => ops.transpose(g, x)),
    single('transpose of three', [2, 3, 2], (g, x) => ops.transpose(g, x, [2, 0, 1])),
    ofBatch('transpose of the batch', (g, x) => ops.transpose(g, x)),
  ],
  reshape: [
    single('reshape', [2, 6], (g, x) => ops.reshape(g, x, [3, 4])),
    single('squeeze, unsqueeze', [2, 1, 2], (g, x) => ops.unsqueeze(g, ops.squeeze(g, x, [1]), 0)),
    ofBatch('reshape of the batch', (g, x) => ops.reshape(g, x, [3, 'B', 1])),
  ],
  broadcast: [
    single('broadcast', [2, 1], (g, x) => ops.broadcastLike(g, x, zeros(g, [2, 2, 3]))),
    single('broadcast of a scalar', [], (g, x) => ops.broadcastLike(g, x, zeros(g, [2, 3]))),
    single('broadcast to the batch', [1, 3], (g, x) => ops.broadcastLike(g, x, rows(g))),
    {
      name: 'broadcast of the batch',
      tensors: [floats([1])],
      build: (g, p) => ops.broadcastLike(g, ops.mul(g, column(g), p), rows(g)),
    },
  ],
  concat: [
    {
      name: 'concat, one part twice',
      tensors: [floats([2, 1]), floats([2, 3])],
      build: (g, a, b) => ops.concat(g, [a, b, a], -1),
    },
    {
      name: 'concat of the batch',
      tensors: [floats([3]), floats([1])],
      build: (g, p, q) => ops.concat(g, [ops.mul(g, rows(g), p), ops.mul(g, column(g), q)], 1),
    },
  ],
  slice: [
    single('slice', [2, 5], (g, x) => ops.slice(g, x, 1, 1, 3)),
    single('index', [3, 2], (g, x) => ops.mul(g, ops.index(g, x, 0, 1), ops.index(g, x, 0, 2))),
    single('split', [2, 5], (g, x) => {
      const [a, b] = ops.split(g, x, 1, [2, 3]);
      return ops.add(g, ops.reduceSum(g, ops.tanh(g, a!), [1]), ops.reduceSum(g, ops.exp(g, b!), [1]));
    }),
    ofBatch('slice of the batch', (g, x) => ops.slice(g, x, 1, 1, 3)),
  ],
  pad: [
    single('pad', [2, 2], (g, x) => ops.pad(g, x, 0, 1, 2)),
    ofBatch('pad of the batch', (g, x) => ops.pad(g, x, 1, 2, 0)),
  ],
  reduceSum: [
    single('reduceSum', [2, 3, 2], (g, x) => ops.reduceSum(g, ops.exp(g, x), [0, -1])),
    single('reduceSum keeping', [2, 3], (g, x) => ops.reduceSum(g, x, [1], true)),
    ofBatch('reduceSum over the batch', (g, x) => ops.reduceSum(g, x, [0])),
  ],
  reduceMean: [
    single('reduceMean', [2, 3], (g, x) => ops.reduceMean(g, ops.exp(g, x))),
    single('reduceMean keeping', [2, 3, 2], (g, x) => ops.reduceMean(g, ops.exp(g, x), [0, 2], true)),
    ofBatch('reduceMean over the batch', (g, x) => ops.reduceMean(g, ops.exp(g, x), [0])),
    ofBatch('reduceMean of all', (g, x) => ops.neg(g, ops.reduceMean(g, ops.mul(g, x, x)))),
    ofBatch('reduceMean, as in centring', (g, x) =>
      ops.mul(g, ops.sub(g, x, ops.reduceMean(g, x, [0], true)), x),
    ),
  ],
  reduceMax: [
    {
      name: 'reduceMax',
      tensors: [floats([2, 3], (i) => [1, 5, 3, 9, 2, 4][i]!)],
      build: (g, x) => ops.reduceMax(g, x, [1]),
    },
    {
      name: 'reduceMax over the batch',
      tensors: [floats([3], () => 1)],
      build: (g, p) => ops.reduceMax(g, ops.mul(g, rows(g), p), [0], true),
    },
  ],
  softmax: [single('softmax', [2, 4], ops.softmax), ofBatch('softmax of the batch', ops.softmax)],
  logSoftmax: [
    single('logSoftmax', [2, 4], ops.logSoftmax),
    ofBatch('logSoftmax of the batch', ops.logSoftmax),
  ],
  gatherRows: [
    single('gatherRows', [4, 2], (g, t) =>
      ops.gatherRows(g, t, g.constant(Int32Array.of(1, 3, 1, 1), [2, 2])),
    ),
    single('gatherRows of one id', [4, 2], (g, t) => ops.gatherRows(g, t, g.scalar(2, 'i32'))),
    single('gatherRows of the batch', [3, 2], (g, t) => ops.gatherRows(g, t, ids(g))),
  ],
  scatterAddRows: [
    {
      name: 'scatterAddRows',
      tensors: [floats([3, 2]), floats([4, 2])],
      build: (g, base, updates) =>
        ops.scatterAddRows(g, base, g.constant(Int32Array.of(2, 0, 2, 2), [4]), updates),
    },
    {
      name: 'scatterAddRows of the batch',
      tensors: [floats([3, 3]), floats([3])],
      build: (g, base, p) => ops.scatterAddRows(g, base, ops.index(g, ids(g), 1, 0), ops.mul(g, rows(g), p)),
    },
  ],
  pick: [
    single('pick', [3, 4], (g, x) => ops.pick(g, x, g.constant(Int32Array.of(3, 0, 2), [3]))),
    ofBatch('pick of the batch', (g, x) => ops.pick(g, x, ops.index(g, ids(g), 1, 1))),
  ],
  batchSize: null,
  biasCorrection: null,
};

function single(name: string, shape: readonly number[], build: GradientCase['build']): GradientCase {
  return { name, tensors: [floats(shape)], build };
}

/** An op on [B, 3] that depends on a parameter. */
function ofBatch(name: string, build: (g: Graph, x: Node) => Node): GradientCase {
  return { name, tensors: [floats([3])], build: (g, p) => build(g, ops.mul(g, rows(g), p)) };
}

function pair(
  name: string,
  left: readonly number[],
  right: readonly number[],
  build: GradientCase['build'],
): GradientCase {
  return { name, tensors: [floats(left), floats(right)], build };
}

function zeros(g: Graph, shape: readonly number[]): Node {
  return g.node('zeros', [], { shape });
}

function unary(op: UnaryName, build: (g: Graph, x: Node) => Node): readonly GradientCase[] {
  const isPositive = op === 'log' || op === 'sqrt';
  const element = isPositive ? () => Math.abs(awayFromZero()) + 0.3 : awayFromZero;
  return [
    { name: op, tensors: [floats([2, 3], element)], build },
    { name: `${op} of a scalar`, tensors: [floats([], element)], build },
    {
      name: `${op} of the batch`,
      tensors: [floats([3], () => 0.8 + 0.1 * uniform())],
      build: (g, p) => {
        const x = ops.mul(g, rows(g), p);
        return build(g, isPositive ? ops.mul(g, x, x) : x);
      },
    },
  ];
}

/** Each way of stretching fixed lengths, and those with the batch: neither side is near 0 nor near the other. */
function binary(op: ArithmeticName, build: (g: Graph, a: Node, b: Node) => Node): readonly GradientCase[] {
  const withBatch: readonly (readonly [
    string,
    readonly number[],
    (g: Graph, p: Node) => readonly [Node, Node],
  ])[] = [
    ['p [3] and [B,3]', [3], (g, p) => [p, rows(g)]],
    ['[B,3] and p [1,3]', [1, 3], (g, p) => [rows(g), p]],
    ['p [] and [B,3]', [], (g, p) => [p, rows(g)]],
    ['[B,3] and p [2,1,1]', [2, 1, 1], (g, p) => [rows(g), p]],
    ['p [B,1] and [B,3]', [1], (g, p) => [ops.mul(g, column(g), p), rows(g)]],
    ['[B,3] and p [B,1]', [1], (g, p) => [rows(g), ops.mul(g, column(g), p)]],
    ['p [B,3] and [2,B,1]', [3], (g, p) => [ops.mul(g, rows(g), p), ops.mul(g, column(g), twoLayers(g))]],
  ];
  return [
    ...STRETCHED.map(
      ([left, right]): GradientCase => ({
        name: `${op} [${left.join()}] and [${right.join()}]`,
        tensors: [floats(left, small), floats(right, large)],
        build,
      }),
    ),
    ...withBatch.map(
      ([name, shape, sides]): GradientCase => ({
        name: `${op}, ${name}`,
        tensors: [floats(shape, large)],
        build: (g, p) => build(g, ...sides(g, p)),
      }),
    ),
  ];
}

function twoLayers(g: Graph): Node {
  return g.constant(Float32Array.of(0.7, -1.3), [2, 1, 1]);
}
