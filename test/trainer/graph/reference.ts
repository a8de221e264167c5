import { ancestorsOf } from '../../../trainer/graph/differentiate.ts';
import type { Dtype, Node, NodeOf, OpName, Shape } from '../../../trainer/graph/node.ts';

/** A tensor in plain numbers: float64, or whole numbers, or 0 and 1 for bool. */
export interface Plain {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

/** Data of inputs and parameters by name, and the length of the batch. */
export interface PlainFeeds {
  readonly batch: number;
  readonly tensors: Readonly<Record<string, Plain>>;
}

/** Evaluates nodes one after the other, from the definition of each op; knows nothing of shape-rules.ts or ONNX. */
export function evaluatePlainly(nodes: readonly Node[], feeds: PlainFeeds): Map<Node, Plain> {
  const results = new Map<Node, Plain>();
  for (const node of ancestorsOf(nodes)) {
    const inputs: readonly Node[] = node.inputs;
    results.set(
      node,
      evaluateNode(
        node,
        inputs.map((input) => results.get(input)!),
        feeds,
      ),
    );
  }
  return results;
}

function evaluateNode<K extends OpName>(node: NodeOf<K>, inputs: readonly Plain[], feeds: PlainFeeds): Plain {
  return DEFINITIONS[node.op](inputs, node, feeds);
}

type Definition<K extends OpName> = (inputs: readonly Plain[], node: NodeOf<K>, feeds: PlainFeeds) => Plain;

const DEFINITIONS: { readonly [K in OpName]: Definition<K> } = {
  input: (_, { attributes }, { tensors }) => tensors[attributes.name]!,
  parameter: (_, { attributes }, { tensors }) => tensors[attributes.name]!,
  constant: (_, { dtype, attributes }) => ({
    dtype,
    shape: attributes.shape.map(Number),
    data: Array.from(attributes.data, Number),
  }),
  zeros: (_, { attributes }) => make('f32', attributes.shape, () => 0),
  add: arithmetic((a, b) => a + b),
  sub: arithmetic((a, b) => a - b),
  mul: arithmetic((a, b) => a * b),
  // Whole numbers are divided towards zero.
  div: ([a, b]) => zip(a!.dtype, [a!, b!], (x, y) => (a!.dtype === 'f32' ? x / y : Math.trunc(x / y))),
  min: arithmetic(Math.min),
  max: arithmetic(Math.max),
  less: comparison((a, b) => a < b),
  lessOrEqual: comparison((a, b) => a <= b),
  greater: comparison((a, b) => a > b),
  greaterOrEqual: comparison((a, b) => a >= b),
  equal: comparison((a, b) => a === b),
  and: comparison((a, b) => a === 1 && b === 1),
  not: unary((x) => 1 - x),
  neg: unary((x) => -x),
  exp: unary(Math.exp),
  log: unary(Math.log),
  sqrt: unary(Math.sqrt),
  abs: unary(Math.abs),
  sign: unary(Math.sign),
  tanh: unary(Math.tanh),
  sigmoid: unary((x) => 1 / (1 + Math.exp(-x))),
  relu: unary((x) => Math.max(x, 0)),
  stopGradient: unary((x) => x),
  clamp: ([x, low, high]) =>
    make('f32', x!.shape, (at) => Math.min(Math.max(read(x!, at), low!.data[0]!), high!.data[0]!)),
  where: (inputs) => zip(inputs[1]!.dtype, inputs, (condition, a, b) => (condition === 1 ? a : b)),
  cast: ([x], { attributes: { to } }) =>
    make(to, x!.shape, (at) => {
      const value = read(x!, at);
      if (to === 'bool') return value === 0 ? 0 : 1;
      return to === 'f32' ? value : Math.trunc(value);
    }),
  matmul: ([a, b]) => {
    const inner = a!.shape.at(-1)!;
    return make('f32', [...a!.shape.slice(0, -1), b!.shape.at(-1)!], (at) =>
      sumOver([inner], ([k]) => {
        const row = at.slice(0, -1);
        return read(a!, [...row, k!]) * read(b!, [...row.slice(0, -1), k!, at.at(-1)!]);
      }),
    );
  },
  outerSum: ([a, b]) =>
    make('f32', [a!.shape.at(-1)!, b!.shape.at(-1)!], ([k, n]) =>
      sumOver(a!.shape.slice(0, -1), (row) => read(a!, [...row, k!]) * read(b!, [...row, n!])),
    ),
  transpose: ([x], { attributes: { permutation } }) =>
    make(
      x!.dtype,
      permutation.map((axis) => x!.shape[axis]!),
      (at) =>
        read(
          x!,
          x!.shape.map((_, axis) => at[permutation.indexOf(axis)]!),
        ),
    ),
  reshape: ([x], { attributes }, { batch }) => ({ ...x!, shape: lengths(attributes.shape, batch) }),
  broadcast: ([x], { attributes }, { batch }) =>
    make(x!.dtype, lengths(attributes.shape, batch), (at) => read(x!, at)),
  concat: (parts, { attributes: { axis } }) => {
    const length = parts.reduce((sum, part) => sum + part.shape[axis]!, 0);
    return make(parts[0]!.dtype, parts[0]!.shape.with(axis, length), (at) => {
      let [offset, number] = [at[axis]!, 0];
      while (offset >= parts[number]!.shape[axis]!) offset -= parts[number++]!.shape[axis]!;
      return read(parts[number]!, at.with(axis, offset));
    });
  },
  slice: ([x], { attributes: { axis, start, end } }) =>
    make(x!.dtype, x!.shape.with(axis, end - start), (at) => read(x!, at.with(axis, at[axis]! + start))),
  pad: ([x], { attributes: { axis, before, after } }) => {
    const length = x!.shape[axis]!;
    return make('f32', x!.shape.with(axis, before + length + after), (at) => {
      const from = at[axis]! - before;
      return from < 0 || from >= length ? 0 : read(x!, at.with(axis, from));
    });
  },
  reduceSum: (inputs, { attributes }) => reduce(inputs[0]!, attributes, total),
  reduceMean: (inputs, { attributes }) =>
    reduce(inputs[0]!, attributes, (values) => total(values) / values.length),
  reduceMax: (inputs, { attributes }) => reduce(inputs[0]!, attributes, (values) => Math.max(...values)),
  gatherRows: ([table, ids]) =>
    make('f32', [...ids!.shape, table!.shape[1]!], (at) =>
      read(table!, [read(ids!, at.slice(0, -1)), at.at(-1)!]),
    ),
  scatterAddRows: ([base, ids, updates]) =>
    make(
      'f32',
      base!.shape,
      ([row, column]) =>
        read(base!, [row!, column!]) +
        sumOver(ids!.shape, (at) => (read(ids!, at) === row ? read(updates!, [...at, column!]) : 0)),
    ),
  pick: ([x, indices]) => make('f32', indices!.shape, (at) => read(x!, [...at, read(indices!, at)])),
  softmax: ([x]) => make('f32', x!.shape, (at) => Math.exp(read(x!, at) - logSum(x!, at))),
  logSoftmax: ([x]) => make('f32', x!.shape, (at) => read(x!, at) - logSum(x!, at)),
  batchSize: (_, __, { batch }) => make('f32', [], () => batch),
  biasCorrection: ([step], { attributes: { beta } }) => make('f32', [], () => 1 - beta ** step!.data[0]!),
};

function arithmetic(f: (a: number, b: number) => number): (inputs: readonly Plain[]) => Plain {
  return (inputs) => zip(inputs[0]!.dtype, inputs, (a, b) => f(a, b));
}

function comparison(f: (a: number, b: number) => boolean): (inputs: readonly Plain[]) => Plain {
  return (inputs) => zip('bool', inputs, (a, b) => (f(a, b) ? 1 : 0));
}

function unary(f: (x: number) => number): (inputs: readonly Plain[]) => Plain {
  return ([x]) => ({ ...x!, data: x!.data.map(f) });
}

function lengths(shape: Shape, batch: number): number[] {
  return shape.map((dim) => (typeof dim === 'string' ? batch : dim));
}

function total(values: readonly number[]): number {
  return values.reduce((left, right) => left + right, 0);
}

/** Log of the sum of exponentials of the last axis, at an index whose last number is not looked at. */
function logSum(x: Plain, at: readonly number[]): number {
  return Math.log(sumOver(x.shape.slice(-1), ([last]) => Math.exp(read(x, [...at.slice(0, -1), last!]))));
}

function reduce(
  x: Plain,
  { axes, keep }: { readonly axes: readonly number[]; readonly keep: boolean },
  f: (values: readonly number[]) => number,
): Plain {
  const kept = x.shape.map((length, axis) => (axes.includes(axis) ? 1 : length));
  const inner = x.shape.map((length, axis) => (axes.includes(axis) ? length : 1));
  const data = allIndices(kept).map((at) =>
    f(
      allIndices(inner).map((offset) =>
        read(
          x,
          at.map((position, axis) => position + offset[axis]!),
        ),
      ),
    ),
  );
  return { dtype: 'f32', shape: keep ? kept : kept.filter((_, axis) => !axes.includes(axis)), data };
}

/** Element by element over the shape to which all stretch. */
function zip(dtype: Dtype, inputs: readonly Plain[], f: (...values: number[]) => number): Plain {
  const rank = Math.max(...inputs.map(({ shape }) => shape.length));
  const shape = Array.from({ length: rank }, (_, axis) =>
    Math.max(...inputs.map((input) => input.shape[axis - rank + input.shape.length] ?? 1)),
  );
  return make(dtype, shape, (at) => f(...inputs.map((input) => read(input, at))));
}

function make(dtype: Dtype, shape: readonly number[], element: (at: number[]) => number): Plain {
  return { dtype, shape, data: allIndices(shape).map(element) };
}

function sumOver(shape: readonly number[], element: (at: number[]) => number): number {
  return total(allIndices(shape).map(element));
}

/** Aligned at the last axis, as NumPy does: leading numbers are dropped, and an axis of length 1 is read at 0. */
function read({ shape, data }: Plain, at: readonly number[]): number {
  let flat = 0;
  const missing = at.length - shape.length;
  for (const [axis, length] of shape.entries())
    flat = flat * length + (length === 1 ? 0 : at[axis + missing]!);
  return data[flat]!;
}

/** All indices of a shape, row-major. */
function allIndices(shape: readonly number[]): number[][] {
  let all: number[][] = [[]];
  for (const length of shape)
    all = all.flatMap((at) => Array.from({ length }, (_, position) => [...at, position]));
  return all;
}
