import type { Graph } from './graph.ts';
import type { Node, NodeOf, OpName, ReductionName } from './node.ts';
import * as ops from './ops.ts';
import { fixedLengths, namedAxis, staticSize } from './shape.ts';

/** One gradient per input; null where none flows: into indices, conditions and bounds. */
export type InputGradients = readonly (Node | null)[];
type Rule<K extends OpName> = (g: Graph, node: NodeOf<K>, gradient: Node) => InputGradients;

/** The gradients of a node's inputs from its own; undefined for an op that has none. */
export function gradientsOf<K extends OpName>(
  g: Graph,
  node: NodeOf<K>,
  gradient: Node,
): InputGradients | undefined {
  const rule = RULES[node.op];
  return rule === null ? undefined : rule(g, node, gradient);
}

/** Whether an op has a rule. Three rules let nothing through: those of stopGradient, batchSize and biasCorrection. */
export function hasGradient(op: OpName): boolean {
  return RULES[op] !== null;
}

/** y is the node itself and dy its gradient. null: not differentiable. */
const RULES: { readonly [K in OpName]: Rule<K> | null } = {
  input: null,
  parameter: null,
  constant: null,
  zeros: null,
  add: (g, { inputs: [a, b] }, dy) => [sumTo(g, dy, a), sumTo(g, dy, b)],
  sub: (g, { inputs: [a, b] }, dy) => [sumTo(g, dy, a), ops.neg(g, sumTo(g, dy, b))],
  mul: (g, { inputs: [a, b] }, dy) => [sumTo(g, ops.mul(g, dy, b), a), sumTo(g, ops.mul(g, dy, a), b)],
  div: (g, y, dy) => {
    const [a, b] = y.inputs;
    const da = ops.div(g, dy, b);
    return [sumTo(g, da, a), ops.neg(g, sumTo(g, ops.mul(g, da, y), b))];
  },
  min: (g, { inputs: [a, b] }, dy) => choose(g, ops.lessOrEqual(g, a, b), dy, [a, b]),
  max: (g, { inputs: [a, b] }, dy) => choose(g, ops.greaterOrEqual(g, a, b), dy, [a, b]),
  less: null,
  lessOrEqual: null,
  greater: null,
  greaterOrEqual: null,
  equal: null,
  and: null,
  not: null,
  neg: (g, _, dy) => [ops.neg(g, dy)],
  exp: (g, y, dy) => [ops.mul(g, dy, y)],
  log: (g, { inputs: [x] }, dy) => [ops.div(g, dy, x)],
  sqrt: (g, y, dy) => [ops.div(g, ops.mul(g, dy, 0.5), y)],
  abs: (g, { inputs: [x] }, dy) => [ops.mul(g, dy, ops.sign(g, x))],
  sign: null,
  tanh: (g, y, dy) => [ops.mul(g, dy, ops.sub(g, 1, ops.mul(g, y, y)))],
  sigmoid: (g, y, dy) => [ops.mul(g, dy, ops.sub(g, y, ops.mul(g, y, y)))],
  relu: (g, { inputs: [x] }, dy) => [ops.where(g, ops.greater(g, x, 0), dy, 0)],
  stopGradient: () => [null],
  cast: null,
  clamp: (g, y, dy) => [ops.where(g, ops.equal(g, y, y.inputs[0]), dy, 0), null, null],
  where: (g, { inputs: [condition, a, b] }, dy) => [null, ...choose(g, condition, dy, [a, b])],
  matmul: (g, { inputs: [a, b] }, dy) => [
    ops.matmul(g, dy, ops.transpose(g, b)),
    b.shape.length === 2 && namedAxis(b.shape) === undefined
      ? ops.outerSum(g, a, dy)
      : sumTo(g, ops.matmul(g, ops.transpose(g, a), dy), b),
  ],
  outerSum: (g, { inputs: [a, b] }, dy) => [ops.matmul(g, b, ops.transpose(g, dy)), ops.matmul(g, a, dy)],
  transpose: (g, { attributes: { permutation } }, dy) => [
    ops.transpose(
      g,
      dy,
      permutation.map((_, axis) => permutation.indexOf(axis)),
    ),
  ],
  reshape: (g, { inputs: [x] }, dy) => [ops.reshape(g, dy, x.shape)],
  broadcast: (g, { inputs }, dy) =>
    inputs.map((input, position) => (position === 0 ? sumTo(g, dy, input) : null)),
  concat: (g, { inputs, attributes: { axis } }, dy) => {
    const lengths = inputs.map((input) => staticSize([input.shape[axis] ?? 1]) ?? 1);
    return ops.split(g, dy, axis, lengths);
  },
  slice: (g, { inputs: [x], attributes: { axis, start, end } }, dy) => {
    const length = staticSize([x.shape[axis] ?? 1]) ?? 1;
    return [ops.pad(g, dy, axis, start, length - end)];
  },
  pad: (g, { inputs: [x], attributes: { axis, before } }, dy) => {
    const length = staticSize([x.shape[axis] ?? 1]) ?? 1;
    return [ops.slice(g, dy, axis, before, before + length)];
  },
  reduceSum: (g, y, dy) => [spread(g, y, dy)],
  reduceMean: (g, y, dy) => [spread(g, y, ops.div(g, dy, countReduced(g, y)))],
  reduceMax: (g, y, dy) => {
    const [x] = y.inputs;
    const isLargest = ops.cast(g, ops.equal(g, x, spread(g, y, y)), 'f32');
    const ties = ops.reduceSum(g, isLargest, y.attributes.axes, y.attributes.keep);
    return [ops.mul(g, isLargest, spread(g, y, ops.div(g, dy, ties)))];
  },
  gatherRows: (g, { inputs: [table, ids] }, dy) => {
    return [ops.scatterAddRows(g, zerosLike(g, table), ids, dy), null];
  },
  scatterAddRows: (g, { inputs: [, ids] }, dy) => [dy, null, ops.gatherRows(g, dy, ids)],
  pick: (g, { inputs: [x, indices] }, dy) => {
    const length = staticSize(x.shape.slice(-1)) ?? 1;
    return [ops.mul(g, ops.oneHot(g, indices, length), ops.unsqueeze(g, dy, -1)), null];
  },
  softmax: (g, y, dy) => {
    const weighted = ops.mul(g, dy, y);
    return [ops.sub(g, weighted, ops.mul(g, y, ops.reduceSum(g, weighted, [-1], true)))];
  },
  logSoftmax: (g, y, dy) => {
    const total = ops.reduceSum(g, dy, [-1], true);
    return [ops.sub(g, dy, ops.mul(g, ops.exp(g, y), total))];
  },
  batchSize: () => [null],
  biasCorrection: () => [null],
};

/** Sums the axes along which an operand was stretched, so that the gradient has the operand's shape. */
function sumTo(g: Graph, gradient: Node, operand: Node): Node {
  const missing = gradient.shape.length - operand.shape.length;
  const axes = gradient.shape.flatMap((dim, axis) =>
    axis < missing || (operand.shape[axis - missing] === 1 && dim !== 1) ? [axis] : [],
  );
  return ops.reshape(g, ops.reduceSum(g, gradient, axes, false), operand.shape);
}

/** The gradient goes to the first operand where the condition holds and to the second elsewhere. */
function choose(g: Graph, condition: Node, gradient: Node, [a, b]: readonly [Node, Node]): [Node, Node] {
  return [
    sumTo(g, ops.where(g, condition, gradient, 0), a),
    sumTo(g, ops.where(g, condition, 0, gradient), b),
  ];
}

function zerosLike(g: Graph, x: Node): Node {
  const { shape } = x;
  return namedAxis(shape) === undefined
    ? g.node('zeros', [], { shape: fixedLengths(shape) })
    : ops.broadcastLike(g, g.scalar(0), x);
}

/** What has the shape of a reduction's result, stretched to the shape of its input. */
function spread(g: Graph, reduced: NodeOf<ReductionName>, x: Node): Node {
  const [input] = reduced.inputs;
  const { axes } = reduced.attributes;
  const kept = input.shape.map((dim, axis) => (axes.includes(axis) ? 1 : dim));
  return ops.broadcastLike(g, ops.reshape(g, x, kept), input);
}

/** How many elements went into each element of a reduction's result. */
function countReduced(g: Graph, reduced: NodeOf<ReductionName>): Node {
  const [input] = reduced.inputs;
  const dims = reduced.attributes.axes.map((axis) => input.shape[axis] ?? 1);
  const fixed = g.scalar(staticSize(fixedLengths(dims)) ?? 1);
  return namedAxis(dims) !== undefined ? ops.mul(g, ops.batchSize(g, input), fixed) : fixed;
}
