import { misfit } from './graph-error.ts';
import type { Dim, Dtype, Node, OpName, Ops, Shape, TensorData, TensorType } from './node.ts';
import { broadcastShapes, fixedLengths, isLength, namedAxis, sameShape, staticSize } from './shape.ts';

type Rule<K extends OpName> = (
  inputs: Ops[K]['inputs'],
  attributes: Ops[K]['attributes'],
  op: K,
) => TensorType;

/** The type of what an op gives. Throws `graph-invalid`, naming op, shapes and what was wanted. */
export function inferType<K extends OpName>(
  op: K,
  inputs: Ops[K]['inputs'],
  attributes: Ops[K]['attributes'],
): TensorType {
  const type = RULES[op](inputs, attributes, op);
  if (namedAxes(type.shape) > 1)
    throw misfit(op, inputs, `at most one named axis in the result, not [${type.shape.join(',')}]`);
  return type;
}

const RULES: { readonly [K in OpName]: Rule<K> } = {
  input: (_, { dtype, shape, name }) => ({ dtype, shape: validShape(`input "${name}"`, shape) }),
  parameter: (_, { name, shape }) => {
    if (namedAxis(shape) !== undefined)
      throw misfit(`parameter "${name}"`, [{ dtype: 'f32', shape }], 'a shape of fixed lengths');
    return { dtype: 'f32', shape: validShape(`parameter "${name}"`, shape) };
  },
  constant: (_, { data, shape }) => {
    const type: TensorType = { dtype: dtypeOf(data), shape: validShape('constant', shape) };
    if (staticSize(shape) !== data.length)
      throw misfit('constant', [type], `as many elements as data: ${data.length}`);
    return type;
  },
  zeros: (_, { shape }) => ({ dtype: 'f32', shape: validShape('zeros', shape) }),
  add: arithmetic,
  sub: arithmetic,
  mul: arithmetic,
  div: arithmetic,
  min: arithmetic,
  max: arithmetic,
  less: comparison,
  lessOrEqual: comparison,
  greater: comparison,
  greaterOrEqual: comparison,
  equal: comparison,
  and: (inputs) => elementwise('and', inputs, ['bool']),
  not: (inputs) => elementwise('not', inputs, ['bool']),
  neg: unary,
  exp: unary,
  log: unary,
  sqrt: unary,
  abs: unary,
  sign: unary,
  tanh: unary,
  sigmoid: unary,
  relu: unary,
  stopGradient: ([x]) => x,
  softmax: lastAxis,
  logSoftmax: lastAxis,
  clamp: (inputs) => {
    const [x, low, high] = inputs;
    if (
      x.dtype !== 'f32' ||
      low.dtype !== 'f32' ||
      high.dtype !== 'f32' ||
      low.shape.length + high.shape.length > 0
    ) {
      throw misfit('clamp', inputs, 'f32, and bounds of shape []');
    }
    return x;
  },
  where: (inputs) => {
    const [condition, a, b] = inputs;
    const shape = broadcastShapes(inputs.map((input) => input.shape));
    if (condition.dtype !== 'bool' || a.dtype !== b.dtype || a.dtype === 'bool' || shape === undefined) {
      throw misfit('where', inputs, 'a bool and two numbers of one type, that broadcast together');
    }
    return { dtype: a.dtype, shape };
  },
  cast: ([x], { to }) => ({ dtype: to, shape: x.shape }),
  matmul,
  outerSum: (inputs) => {
    const [a, b] = inputs;
    const [k, n] = [a.shape.at(-1), b.shape.at(-1)];
    const rowsMatch = a.shape.length >= 2 && sameShape(a.shape.slice(0, -1), b.shape.slice(0, -1));
    if (!areFloat(inputs) || !rowsMatch || !isLength(k) || !isLength(n)) {
      throw misfit('outerSum', inputs, 'f32 [..., k] and [..., n] with the same leading axes, k and n fixed');
    }
    return { dtype: 'f32', shape: [k, n] };
  },
  transpose: ([x], { permutation }) => {
    const shape = permutation.map((axis) => x.shape[axis]).filter((dim) => dim !== undefined);
    if (new Set(permutation).size !== x.shape.length || shape.length !== x.shape.length) {
      throw misfit('transpose', [x], `a permutation of its axes, not ${permutation.join(',')}`);
    }
    return { dtype: x.dtype, shape };
  },
  reshape: ([x], { shape }) => {
    const areAsMany = staticSize(fixedLengths(x.shape)) === staticSize(fixedLengths(shape));
    if (namedAxis(x.shape) !== namedAxis(shape) || !areAsMany) {
      throw misfit('reshape', [x], `as many elements as [${shape.join(',')}] has, and the same named axis`);
    }
    return { dtype: x.dtype, shape: validShape('reshape', shape) };
  },
  broadcast: (inputs, { shape }) => {
    const [x, source] = inputs;
    const result = broadcastShapes([x.shape, shape]);
    if (result === undefined || !sameShape(result, shape)) {
      throw misfit('broadcast', [x], `a shape that stretches to [${shape.join(',')}]`);
    }
    if (namedAxis(shape) !== namedAxis(source?.shape ?? [])) {
      const wanted = 'a second input with the named axis of the shape, and none for a shape without one';
      throw misfit('broadcast', inputs, wanted);
    }
    return { dtype: x.dtype, shape };
  },
  concat: (inputs, { axis }) => {
    const [first] = inputs;
    const length = staticSizeOfAxes(inputs, axis);
    const alike = inputs.every(
      (input) => input.dtype === first?.dtype && sameShape(without(input, axis), without(first, axis)),
    );
    if (first === undefined || !alike || length === undefined) {
      throw misfit(
        'concat',
        inputs,
        `the same type and shape but for axis ${axis}, which has a fixed length`,
      );
    }
    return { dtype: first.dtype, shape: withAxis(first, axis, length) };
  },
  slice: ([x], { axis, start, end }) => {
    const length = x.shape[axis];
    const isRange = Number.isInteger(start) && Number.isInteger(end) && 0 <= start && start < end;
    if (!isLength(length) || !isRange || end > length) {
      throw misfit('slice', [x], `a fixed axis ${axis} that holds ${start} to before ${end}`);
    }
    return { dtype: x.dtype, shape: withAxis(x, axis, end - start) };
  },
  pad: ([x], { axis, before, after }) => {
    const length = x.shape[axis];
    const areCounts = [before, after].every((count) => Number.isInteger(count) && count >= 0);
    if (!isLength(length) || x.dtype !== 'f32' || !areCounts) {
      const wanted = `f32 with a fixed axis ${axis}, and whole numbers of zeros, not ${before} and ${after}`;
      throw misfit('pad', [x], wanted);
    }
    return { dtype: 'f32', shape: withAxis(x, axis, before + length + after) };
  },
  reduceSum: reduction,
  reduceMean: reduction,
  reduceMax: reduction,
  gatherRows: (inputs) => {
    const [table, ids] = inputs;
    if (!isTable(table) || ids.dtype !== 'i32')
      throw misfit('gatherRows', inputs, 'f32 [V,D] with D fixed, and i32 ids');
    return { dtype: 'f32', shape: [...ids.shape, ...table.shape.slice(1)] };
  },
  scatterAddRows: (inputs) => {
    const [base, ids, updates] = inputs;
    const wanted = [...ids.shape, ...base.shape.slice(1)];
    if (
      !isTable(base) ||
      ids.dtype !== 'i32' ||
      updates.dtype !== 'f32' ||
      !sameShape(updates.shape, wanted)
    ) {
      throw misfit('scatterAddRows', inputs, 'f32 [V,D] with D fixed, i32 ids and f32 [...ids,D]');
    }
    return base;
  },
  pick: (inputs) => {
    const [x, indices] = inputs;
    const leading = x.shape.slice(0, -1);
    if (
      x.dtype !== 'f32' ||
      !isLength(x.shape.at(-1)) ||
      indices.dtype !== 'i32' ||
      !sameShape(leading, indices.shape)
    ) {
      throw misfit('pick', inputs, 'f32 [..., A] and i32 [...], with A fixed');
    }
    return { dtype: 'f32', shape: leading };
  },
  batchSize: ([x]) => {
    if (namedAxis(x.shape) === undefined) throw misfit('batchSize', [x], 'a shape with a named axis');
    return { dtype: 'f32', shape: [] };
  },
  biasCorrection: ([step]) => {
    if (step.shape.length > 0 || step.dtype === 'bool')
      throw misfit('biasCorrection', [step], 'a step number of shape []');
    return { dtype: 'f32', shape: [] };
  },
};

/** All ops. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the table are what its type says
export const OP_NAMES = Object.keys(RULES) as readonly OpName[];

function arithmetic(inputs: readonly Node[], _: unknown, op: OpName): TensorType {
  return elementwise(op, inputs, ['f32', 'i32', 'i64']);
}

function comparison(inputs: readonly Node[], _: unknown, op: OpName): TensorType {
  return { ...elementwise(op, inputs, ['f32', 'i32', 'i64']), dtype: 'bool' };
}

function unary(inputs: readonly Node[], _: unknown, op: OpName): TensorType {
  return elementwise(op, inputs, ['f32']);
}

function elementwise(op: OpName, inputs: readonly Node[], dtypes: readonly Dtype[]): TensorType {
  const shape = broadcastShapes(inputs.map((input) => input.shape));
  const dtype = dtypes.find((candidate) => inputs.every((input) => input.dtype === candidate));
  if (shape === undefined || dtype === undefined) {
    throw misfit(
      op,
      inputs,
      `${dtypes.join(' or ')}, the same on all sides, with shapes that broadcast together`,
    );
  }
  return { dtype, shape };
}

function lastAxis([x]: readonly [Node], _: unknown, op: OpName): TensorType {
  if (x.dtype !== 'f32' || !isLength(x.shape.at(-1))) throw misfit(op, [x], 'f32 with a fixed last axis');
  return x;
}

function matmul(inputs: readonly [Node, Node]): TensorType {
  const [a, b] = inputs;
  const [m, k] = a.shape.slice(-2);
  const [inner, n] = b.shape.slice(-2);
  const flat = b.shape.length === 2 || sameShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
  if (!areFloat(inputs) || m === undefined || k === undefined || k !== inner || n === undefined || !flat) {
    throw misfit(
      'matmul',
      inputs,
      'f32 [..., k] and [k,n], or [..., m,k] and [..., k,n] with the same leading axes',
    );
  }
  return { dtype: 'f32', shape: [...a.shape.slice(0, -1), n] };
}

function reduction(
  [x]: readonly [Node],
  { axes, keep }: Ops['reduceSum']['attributes'],
  op: OpName,
): TensorType {
  if (x.dtype !== 'f32') throw misfit(op, [x], 'f32');
  const areAxes = axes.every((axis) => x.shape[axis] !== undefined);
  // ONNX takes no axes for all axes.
  if (axes.length === 0 || !areAxes || new Set(axes).size !== axes.length)
    throw misfit(op, [x], `axes of the input, each once, not ${axes.join(',') || 'none'}`);
  const kept = x.shape.map((dim, axis): Dim => (axes.includes(axis) ? 1 : dim));
  return { dtype: 'f32', shape: keep ? kept : x.shape.filter((_, axis) => !axes.includes(axis)) };
}

function namedAxes(shape: Shape): number {
  return shape.filter((dim) => !isLength(dim)).length;
}

function validShape(what: string, shape: Shape): Shape {
  const areLengths = fixedLengths(shape).every((dim) => Number.isInteger(dim) && dim > 0);
  if (namedAxes(shape) > 1 || shape.includes('') || !areLengths) {
    throw misfit(what, [{ dtype: 'f32', shape }], 'positive whole lengths and at most one named axis');
  }
  return shape;
}

/** The element type of an array; Uint8Array is bool. */
export function dtypeOf(data: TensorData): Dtype {
  if (data instanceof Float32Array) return 'f32';
  if (data instanceof Int32Array) return 'i32';
  return data instanceof BigInt64Array ? 'i64' : 'bool';
}

function areFloat(inputs: readonly TensorType[]): boolean {
  return inputs.every((input) => input.dtype === 'f32');
}

function isTable(node: Node): boolean {
  return node.dtype === 'f32' && node.shape.length === 2 && isLength(node.shape[1]);
}

function without(node: Node | undefined, axis: number): Shape {
  return node?.shape.filter((_, at) => at !== axis) ?? [];
}

function withAxis(node: Node, axis: number, length: number): Shape {
  return node.shape.map((dim, at) => (at === axis ? length : dim));
}

function staticSizeOfAxes(inputs: readonly Node[], axis: number): number | undefined {
  let sum = 0;
  for (const input of inputs) {
    const dim = input.shape[axis];
    if (!isLength(dim)) return undefined;
    sum += dim;
  }
  return sum;
}
