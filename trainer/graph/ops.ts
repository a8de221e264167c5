import type { Graph } from './graph.ts';
import { misfit } from './graph-error.ts';
import type { ArithmeticName, ComparisonName, Dtype, Node, ReductionName, Shape, UnaryName } from './node.ts';
import { broadcastShapes, namedAxis, resolveAxis, sameShape } from './shape.ts';

/** A node, or a number that becomes a scalar of the other operand's element type. */
export type Operand = Node | number;
type BinaryOp = (g: Graph, a: Operand, b: Operand) => Node;
type UnaryOp = (g: Graph, x: Node) => Node;
/** `axes` all by default, negative ones count from the back; `keep` leaves them in with length 1. */
type ReductionOp = (g: Graph, x: Node, axes?: readonly number[], keep?: boolean) => Node;

/** a + b. All binary ops broadcast as NumPy does. */
export const add: BinaryOp = binary('add');
/** a − b. */
export const sub: BinaryOp = binary('sub');
/** a · b, element by element. */
export const mul: BinaryOp = binary('mul');
/** a ÷ b. */
export const div: BinaryOp = binary('div');
/** The smaller; the gradient goes to it, and to `a` where both are equal. */
export const min: BinaryOp = binary('min');
/** The larger; the gradient goes to it, and to `a` where both are equal. */
export const max: BinaryOp = binary('max');
/** a < b, as bool. */
export const less: BinaryOp = binary('less');
/** a ≤ b, as bool. */
export const lessOrEqual: BinaryOp = binary('lessOrEqual');
/** a > b, as bool. */
export const greater: BinaryOp = binary('greater');
/** a ≥ b, as bool. */
export const greaterOrEqual: BinaryOp = binary('greaterOrEqual');
/** a = b, as bool. */
export const equal: BinaryOp = binary('equal');

/** −x. */
export const neg: UnaryOp = unary('neg');
/** e^x. */
export const exp: UnaryOp = unary('exp');
/** Natural logarithm. */
export const log: UnaryOp = unary('log');
/** √x. */
export const sqrt: UnaryOp = unary('sqrt');
/** |x|; gradient 0 at 0. */
export const abs: UnaryOp = unary('abs');
/** −1, 0 or 1; no gradient. */
export const sign: UnaryOp = unary('sign');
/** Hyperbolic tangent. */
export const tanh: UnaryOp = unary('tanh');
/** 1 ÷ (1 + e^−x). */
export const sigmoid: UnaryOp = unary('sigmoid');
/** max(x, 0); gradient 0 at 0. */
export const relu: UnaryOp = unary('relu');

/** Sum over axes. */
export const reduceSum: ReductionOp = reduction('reduceSum');
/** Mean over axes; over a named one too. */
export const reduceMean: ReductionOp = reduction('reduceMean');
/** Largest over axes; equal largest ones share the gradient. */
export const reduceMax: ReductionOp = reduction('reduceMax');

/** Both; on bool. */
export function and(g: Graph, a: Node, b: Node): Node {
  return elementwise(g, [a, b], ([left, right]) => g.node('and', [left, right], {}));
}

/** The opposite; on bool. */
export function not(g: Graph, x: Node): Node {
  return elementwise(g, [x], ([only]) => g.node('not', [only], {}));
}

/** x held between two scalars, which may be nodes; gradient 1 on [low, high], 0 outside, none for the bounds. */
export function clamp(g: Graph, x: Node, low: Operand, high: Operand): Node {
  const bounds: [Node, Node] = [toNode(g, low, x.dtype), toNode(g, high, x.dtype)];
  return elementwise(g, [x], ([only]) => g.node('clamp', [only, ...bounds], {}));
}

/** `a` where the condition (bool) holds, else `b`; broadcasts. */
export function where(g: Graph, condition: Node, a: Operand, b: Operand): Node {
  const [left, right] = operands(g, a, b);
  return elementwise(g, [condition, left, right], (inputs) => g.node('where', inputs, {}));
}

/** x in another element type; no gradient. */
export function cast(g: Graph, x: Node, to: Dtype): Node {
  return x.dtype === to ? x : elementwise(g, [x], (inputs) => g.node('cast', inputs, { to }));
}

/** x, as a constant to `differentiate`. */
export function stopGradient(g: Graph, x: Node): Node {
  return elementwise(g, [x], (inputs) => g.node('stopGradient', inputs, {}));
}

/** [..., k] × [k, n] → [..., n], or [..., m, k] × [..., k, n] → [..., m, n] with the same leading axes. */
export function matmul(g: Graph, a: Node, b: Node): Node {
  return g.node('matmul', [a, b], {});
}

/** [..., k], [..., n] → [k, n]: the outer products along the last axis, summed over all the others. */
export function outerSum(g: Graph, a: Node, b: Node): Node {
  return g.node('outerSum', [a, b], {});
}

/** Axes in another order: axis i of the result is axis `permutation[i]` of x. By default the last two change places. */
export function transpose(g: Graph, x: Node, permutation?: readonly number[]): Node {
  const rank = x.shape.length;
  const swapped = x.shape.map((_, axis) => (axis < rank - 2 ? axis : 2 * rank - 3 - axis));
  return g.node('transpose', [x], { permutation: permutation ?? swapped });
}

/** The same elements under another shape. A named axis must stay itself: [B, 6, 4] → [B, 24], not [6B, 4]. Costs nothing. */
export function reshape(g: Graph, x: Node, shape: Shape): Node {
  return sameShape(x.shape, shape) ? x : g.node('reshape', [x], { shape });
}

/** Without axes of length 1. */
export function squeeze(g: Graph, x: Node, axes: readonly number[]): Node {
  const dropped = axes.map((axis) => axisOf('squeeze', x, axis));
  if (dropped.some((axis) => x.shape[axis] !== 1))
    throw misfit('squeeze', [x], `length 1 at ${axes.join(', ')}`);
  return reshape(
    g,
    x,
    x.shape.filter((_, axis) => !dropped.includes(axis)),
  );
}

/** With one more axis of length 1, which is number `axis` in the result. */
export function unsqueeze(g: Graph, x: Node, axis: number): Node {
  const at = resolveAxis(axis, x.shape.length + 1);
  if (at === undefined) throw misfit('unsqueeze', [x], `an axis within the result, not ${axis}`);
  return reshape(g, x, [...x.shape.slice(0, at), 1, ...x.shape.slice(at)]);
}

/** x stretched to a shape; `like` has it, and knows its named axis. Elementwise ops put this off as long as they can. */
export function broadcastLike(g: Graph, x: Node, like: Node): Node {
  return broadcastTo(g, x, like.shape, like);
}

/** Joined along an axis; all other axes are equal. */
export function concat(g: Graph, parts: readonly Node[], axis: number): Node {
  const [first] = parts;
  if (first === undefined) throw misfit('concat', [], 'at least one part');
  return parts.length === 1 ? first : g.node('concat', parts, { axis: axisOf('concat', first, axis) });
}

/** Elements `start` to before `end` along an axis other than the batch. */
export function slice(g: Graph, x: Node, axis: number, start: number, end = start + 1): Node {
  const at = axisOf('slice', x, axis);
  return start === 0 && end === x.shape[at] ? x : g.node('slice', [x], { axis: at, start, end });
}

/** x with `before` and `after` zeros around it along an axis other than the batch. */
export function pad(g: Graph, x: Node, axis: number, before: number, after: number): Node {
  return g.node('pad', [x], { axis: axisOf('pad', x, axis), before, after });
}

/** One element along an axis, which goes away. */
export function index(g: Graph, x: Node, axis: number, at: number): Node {
  return squeeze(g, slice(g, x, axis, at, at + 1), [axis]);
}

/** Consecutive parts along an axis, of the given lengths, which add up to the axis. */
export function split(g: Graph, x: Node, axis: number, lengths: readonly number[]): Node[] {
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (x.shape[axisOf('split', x, axis)] !== total)
    throw misfit('split', [x], `length ${total} at axis ${axis}`);
  let start = 0;
  return lengths.map((length) => {
    start += length;
    return slice(g, x, axis, start - length, start);
  });
}

/** Rows of a table: [V, D] and i32 ids of any shape → [...ids, D]. Ids must be within the table: ORT fails otherwise. */
export function gatherRows(g: Graph, table: Node, ids: Node): Node {
  return g.node('gatherRows', [table, ids], {});
}

/** `base` [V, D] with `updates` [...ids, D] added to the rows that i32 `ids` name, repeats included. */
export function scatterAddRows(g: Graph, base: Node, ids: Node, updates: Node): Node {
  return g.node('scatterAddRows', [base, ids, updates], {});
}

/** One element of the last axis each: [..., A] and i32 [...] → [...]. Indices must be from 0 to before A. */
export function pick(g: Graph, x: Node, indices: Node): Node {
  return g.node('pick', [x, indices], {});
}

/** i32 [...] → f32 [..., length]: 1 at the index, else 0. */
export function oneHot(g: Graph, indices: Node, length: number): Node {
  const positions = g.constant(
    Int32Array.from({ length }, (_, position) => position),
    [length],
  );
  return cast(g, equal(g, unsqueeze(g, indices, -1), positions), 'f32');
}

/** e^x ÷ Σ e^x over the last axis. */
export function softmax(g: Graph, x: Node): Node {
  return g.node('softmax', [x], {});
}

/** x − log Σ e^x over the last axis. */
export function logSoftmax(g: Graph, x: Node): Node {
  return g.node('logSoftmax', [x], {});
}

/** How long the named axis of x is (the batch, as a rule), as a float32 scalar. */
export function batchSize(g: Graph, x: Node): Node {
  return g.node('batchSize', [batchSource(x)], {});
}

/** x stretched to a shape, the named axis of which is that of `like`. */
function broadcastTo(g: Graph, x: Node, shape: Shape, like: Node): Node {
  if (sameShape(x.shape, shape)) return x;
  const source: Node = x.op === 'broadcast' ? x.inputs[0] : x;
  const inputs: readonly [Node] | readonly [Node, Node] =
    namedAxis(shape) !== undefined ? [source, batchSource(like)] : [source];
  return g.node('broadcast', inputs, { shape });
}

/** The graph input from which x has its named axis: every node with one has an input with it, down to a graph input. */
function batchSource(x: Node): Node {
  const name = namedAxis(x.shape);
  if (name === undefined) throw misfit('batchSize', [x], 'a shape with a named axis');
  let node: Node = x;
  while (node.inputs.length > 0) {
    const inputs: readonly Node[] = node.inputs;
    const next = inputs.find((input) => input.shape.includes(name));
    if (next === undefined) break;
    node = next;
  }
  return node;
}

/**
 * Builds an elementwise op on the inputs before they were stretched, and stretches the result if need be. The two
 * commute; this keeps the gradients of reductions small.
 */
function elementwise<Inputs extends readonly [Node, ...Node[]]>(
  g: Graph,
  inputs: Inputs,
  build: (inputs: Inputs) => Node,
): Node {
  const shape = broadcastShapes(inputs.map((input) => input.shape));
  const stretched = inputs.find((input) => input.op === 'broadcast' && namedAxis(input.shape) !== undefined);
  if (shape === undefined || !inputs.some((input) => input.op === 'broadcast')) return build(inputs);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- map keeps the length of a tuple
  const sources = inputs.map(
    (input): Node => (input.op === 'broadcast' ? input.inputs[0] : input),
  ) as unknown as Inputs;
  const node = build(sources);
  return broadcastTo(g, node, shape, stretched ?? node);
}

function binary(op: ArithmeticName | ComparisonName): BinaryOp {
  return (g, a, b) => elementwise(g, operands(g, a, b), (inputs) => g.node(op, inputs, {}));
}

function unary(op: UnaryName): UnaryOp {
  return (g, x) => elementwise(g, [x] as const, (inputs) => g.node(op, inputs, {}));
}

function reduction(op: ReductionName): ReductionOp {
  return (g, x, axes, keep = false) => {
    const all = axes === undefined ? x.shape.map((_, axis) => axis) : axes.map((axis) => axisOf(op, x, axis));
    return all.length === 0 ? x : g.node(op, [x], { axes: all.toSorted((a, b) => a - b), keep });
  };
}

function operands(g: Graph, a: Operand, b: Operand): readonly [Node, Node] {
  const dtype = typeof a !== 'number' ? a.dtype : typeof b !== 'number' ? b.dtype : 'f32';
  return [toNode(g, a, dtype), toNode(g, b, dtype)];
}

function toNode(g: Graph, operand: Operand, dtype: Dtype): Node {
  return typeof operand === 'number' ? g.scalar(operand, dtype) : operand;
}

function axisOf(op: string, x: Node, axis: number): number {
  const at = resolveAxis(axis, x.shape.length);
  if (at === undefined) throw misfit(op, [x], `an axis within the input, not ${axis}`);
  return at;
}
