import { LabError } from '../../src/domain/error.ts';
import { bytesOf } from '../../src/protocol/frame.ts';
import type { Node, NodeOf, OpName, Shape } from './node.ts';
import { ELEMENT_TYPES, type OnnxWriter } from './onnx-writer.ts';
import { fixedLengths, isLength } from './shape.ts';

/** Adds what a node is in ONNX; takes the names of its inputs and gives the name of its output. */
type Emission<K extends OpName> = (writer: OnnxWriter, node: NodeOf<K>, inputs: readonly string[]) => string;

/** Writes one node and gives the name of the tensor that holds it. */
export function emitNode<K extends OpName>(
  writer: OnnxWriter,
  node: NodeOf<K>,
  inputs: readonly string[],
): string {
  return EMISSIONS[node.op](writer, node, inputs);
}

const EMISSIONS: { readonly [K in OpName]: Emission<K> } = {
  input: emitInput,
  parameter: emitInput,
  constant: (writer, { dtype, attributes }) =>
    writer.initializer({ dtype, shape: fixedLengths(attributes.shape) }, bytesOf(attributes.data)),
  zeros: (writer, { attributes }) =>
    writer.operator('ConstantOfShape', [writer.integers(attributes.shape)], { value: { float: 0 } }),
  add: plain('Add'),
  sub: plain('Sub'),
  mul: plain('Mul'),
  div: plain('Div'),
  min: plain('Min'),
  max: plain('Max'),
  less: plain('Less'),
  lessOrEqual: plain('LessOrEqual'),
  greater: plain('Greater'),
  greaterOrEqual: plain('GreaterOrEqual'),
  equal: plain('Equal'),
  and: plain('And'),
  not: plain('Not'),
  neg: plain('Neg'),
  exp: plain('Exp'),
  log: plain('Log'),
  sqrt: plain('Sqrt'),
  abs: plain('Abs'),
  sign: plain('Sign'),
  tanh: plain('Tanh'),
  sigmoid: plain('Sigmoid'),
  relu: plain('Relu'),
  softmax: (writer, _, inputs) => writer.operator('Softmax', inputs, { axis: -1 }),
  logSoftmax: (writer, _, inputs) => writer.operator('LogSoftmax', inputs, { axis: -1 }),
  stopGradient: (_, node, inputs) => at(inputs, 0, node),
  clamp: plain('Clip'),
  where: plain('Where'),
  cast: (writer, { attributes }, inputs) =>
    writer.operator('Cast', inputs, { to: ELEMENT_TYPES[attributes.to] }),
  matmul: plain('MatMul'),
  outerSum: (writer, node, inputs) => {
    const rows = node.inputs.map((input, position) => flattenRows(writer, input, at(inputs, position, node)));
    return writer.operator('Gemm', rows, { transA: 1 });
  },
  transpose: (writer, { attributes }, inputs) =>
    writer.operator('Transpose', inputs, { perm: attributes.permutation }),
  reshape: (writer, node, inputs) => writer.operator('Reshape', [...inputs, shapeVector(writer, node.shape)]),
  broadcast: emitBroadcast,
  concat: (writer, { attributes }, inputs) => writer.operator('Concat', inputs, { axis: attributes.axis }),
  slice: (writer, { attributes: { axis, start, end } }, inputs) =>
    writer.operator('Slice', [
      ...inputs,
      writer.integers([start]),
      writer.integers([end]),
      writer.integers([axis]),
    ]),
  pad: (writer, { shape, attributes: { axis, before, after } }, inputs) => {
    // For all axes: the input `axes` could name the one, but when onnxruntime 1.30 moves a Transpose past such a Pad, it
    // looks for the amounts of axes that are not there, and the run fails.
    const zeros = (amount: number): number[] => shape.map((_, each) => (each === axis ? amount : 0));
    return writer.operator('Pad', [...inputs, writer.integers([...zeros(before), ...zeros(after)])]);
  },
  reduceSum: reduction('ReduceSum'),
  reduceMean: reduction('ReduceMean'),
  reduceMax: reduction('ReduceMax'),
  gatherRows: (writer, _, inputs) => writer.operator('Gather', inputs, { axis: 0 }),
  scatterAddRows: (writer, node, inputs) => {
    // ScatterND alone insists on int64; everything else takes the int32 ids as they are.
    const wide = writer.operator('Cast', [at(inputs, 1, node)], { to: ELEMENT_TYPES.i64 });
    const shape = shapeVector(writer, [...node.inputs[1].shape, 1]);
    const indices = writer.operator('Reshape', [wide, shape]);
    return writer.operator('ScatterND', [at(inputs, 0, node), indices, at(inputs, 2, node)], {
      reduction: 'add',
    });
  },
  pick: (writer, node, inputs) => {
    const column = shapeVector(writer, [...node.shape, 1]);
    const indices = writer.operator('Reshape', [at(inputs, 1, node), column]);
    const picked = writer.operator('GatherElements', [at(inputs, 0, node), indices], { axis: -1 });
    return writer.operator('Reshape', [picked, shapeVector(writer, node.shape)]);
  },
  batchSize: (writer, node, inputs) => {
    const length = batchLength(writer, node.inputs[0], at(inputs, 0, node));
    const scalar = writer.operator('Reshape', [length, writer.integers([])]);
    return writer.operator('Cast', [scalar], { to: ELEMENT_TYPES.f32 });
  },
  biasCorrection: (writer, { attributes }, inputs) => {
    // In double: 1 − 0.999 keeps only three digits of float32's seven.
    const double = (value: number): string =>
      writer.initializer({ dtype: 'double', shape: [] }, bytesOf(Float64Array.of(value)));
    const step = writer.operator('Cast', inputs, { to: ELEMENT_TYPES.double });
    const power = writer.operator('Pow', [double(attributes.beta), step]);
    const rest = writer.operator('Sub', [double(1), power]);
    return writer.operator('Cast', [rest], { to: ELEMENT_TYPES.f32 });
  },
};

function emitInput(writer: OnnxWriter, node: NodeOf<'input' | 'parameter'>): string {
  writer.input(node.attributes.name, node);
  return node.attributes.name;
}

function plain(type: string): (writer: OnnxWriter, node: Node, inputs: readonly string[]) => string {
  return (writer, _, inputs) => writer.operator(type, inputs);
}

function reduction(type: string): Emission<'reduceSum' | 'reduceMean' | 'reduceMax'> {
  return (writer, { attributes }, inputs) =>
    writer.operator(type, [...inputs, writer.integers(attributes.axes)], {
      keepdims: attributes.keep ? 1 : 0,
    });
}

/** [..., k] → [rows, k]. */
function flattenRows(writer: OnnxWriter, node: Node, name: string): string {
  if (node.shape.length === 2) return name;
  return writer.operator('Reshape', [name, writer.integers([-1, ...fixedLengths(node.shape.slice(-1))])]);
}

function emitBroadcast(writer: OnnxWriter, node: NodeOf<'broadcast'>, inputs: readonly string[]): string {
  const [, source] = node.inputs;
  const x = at(inputs, 0, node);
  if (source === undefined) return writer.operator('Expand', [x, writer.integers(fixedLengths(node.shape))]);
  const batch = batchLength(writer, source, at(inputs, 1, node));
  const parts = node.shape.map((dim) => (isLength(dim) ? writer.integers([dim]) : batch));
  return writer.operator('Expand', [x, writer.operator('Concat', parts, { axis: 0 })]);
}

/** A vector of one int64: how long the named axis is. */
function batchLength(writer: OnnxWriter, node: Node, name: string): string {
  const axis = node.shape.findIndex((dim) => !isLength(dim));
  return writer.operator('Shape', [name], { start: axis, end: axis + 1 });
}

/** A target shape for Reshape: -1 is the length that follows from the others, here that of the named axis. */
function shapeVector(writer: OnnxWriter, shape: Shape): string {
  return writer.integers(shape.map((dim) => (isLength(dim) ? dim : -1)));
}

function at(inputs: readonly string[], position: number, node: Node): string {
  const name = inputs[position];
  if (name === undefined)
    throw new LabError('internal', { message: `op "${node.op}" lost its input ${position}` });
  return name;
}
