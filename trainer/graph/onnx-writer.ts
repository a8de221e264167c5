import { bytesOf } from '../../src/protocol/frame.ts';
import type { Dtype, Shape, TensorType } from './node.ts';
import { ProtoWriter } from './protobuf.ts';

/** Values an ONNX attribute may have here: an integer, integers, text, or a tensor of one float. */
type OnnxAttribute = number | readonly number[] | string | { readonly float: number };
export type OnnxAttributes = Readonly<Record<string, OnnxAttribute>>;

/** TensorProto.DataType. `double` occurs inside a graph only. */
export const ELEMENT_TYPES: Readonly<Record<Dtype | 'double', number>> = {
  f32: 1,
  i32: 6,
  i64: 7,
  bool: 9,
  double: 11,
};

const OPSET = 18;
const IR_VERSION = 9;
/** GraphProto.name, which must not be empty. */
const GRAPH_NAME = 'agentrl-lab';
/** AttributeProto.AttributeType. */
const ATTRIBUTE = { int: 2, string: 3, tensor: 4, ints: 7 };

/** Collects the parts of an ONNX model. Tensor names given out begin with %, so they never meet an input's name. */
export class OnnxWriter {
  readonly #graph = new ProtoWriter();
  readonly #constants = new Map<string, string>();
  #count = 0;

  /** Adds an operator of one output, and gives the output's name. */
  operator(
    type: string,
    inputs: readonly string[],
    attributes: OnnxAttributes = {},
    output = this.#newName(),
  ): string {
    const node = new ProtoWriter();
    for (const input of inputs) node.text(1, input);
    node.text(2, output).text(4, type);
    for (const [name, value] of Object.entries(attributes)) node.message(5, attributeOf(name, value));
    this.#graph.message(1, node);
    return output;
  }

  /** Adds a tensor of constants, and gives its name. */
  initializer(
    type: { readonly dtype: Dtype | 'double'; readonly shape: readonly number[] },
    data: Uint8Array,
    name = this.#newName(),
  ): string {
    this.#graph.message(
      5,
      new ProtoWriter()
        .integers(1, type.shape)
        .integer(2, ELEMENT_TYPES[type.dtype])
        .text(8, name)
        .bytes(9, data),
    );
    return name;
  }

  /** A vector of int64: axes, shapes, bounds. Equal ones are written once. */
  integers(values: readonly number[]): string {
    const key = values.join(',');
    const known = this.#constants.get(key);
    if (known !== undefined) return known;
    const name = this.initializer(
      { dtype: 'i64', shape: [values.length] },
      bytesOf(BigInt64Array.from(values, BigInt)),
    );
    this.#constants.set(key, name);
    return name;
  }

  input(name: string, type: TensorType): void {
    this.#graph.message(11, valueInfo(name, type));
  }

  output(name: string, type: TensorType): void {
    this.#graph.message(12, valueInfo(name, type));
  }

  /** The model file, with the name of the program that made it and notes for whoever reads it. */
  finish(producer: string, metadata: Readonly<Record<string, string>>): Uint8Array {
    this.#graph.text(2, GRAPH_NAME);
    const opset = new ProtoWriter().text(1, '').integer(2, OPSET);
    const model = new ProtoWriter()
      .integer(1, IR_VERSION)
      .text(2, producer)
      .message(7, this.#graph)
      .message(8, opset);
    for (const [key, value] of Object.entries(metadata)) {
      model.message(14, new ProtoWriter().text(1, key).text(2, value));
    }
    return model.finish();
  }

  #newName(): string {
    this.#count++;
    return `%${this.#count}`;
  }
}

function attributeOf(name: string, value: OnnxAttribute): ProtoWriter {
  const attribute = new ProtoWriter().text(1, name);
  if (typeof value === 'number') return attribute.integer(3, value).integer(20, ATTRIBUTE.int);
  if (typeof value === 'string') return attribute.text(4, value).integer(20, ATTRIBUTE.string);
  if ('float' in value) {
    const tensor = new ProtoWriter()
      .integers(1, [1])
      .integer(2, ELEMENT_TYPES.f32)
      .bytes(9, bytesOf(Float32Array.of(value.float)));
    return attribute.message(5, tensor).integer(20, ATTRIBUTE.tensor);
  }
  for (const each of value) attribute.integer(8, each);
  return attribute.integer(20, ATTRIBUTE.ints);
}

function valueInfo(name: string, type: TensorType): ProtoWriter {
  const tensor = new ProtoWriter().integer(1, ELEMENT_TYPES[type.dtype]).message(2, shapeOf(type.shape));
  return new ProtoWriter().text(1, name).message(2, new ProtoWriter().message(1, tensor));
}

function shapeOf(shape: Shape): ProtoWriter {
  const writer = new ProtoWriter();
  for (const dim of shape) {
    writer.message(
      1,
      typeof dim === 'number' ? new ProtoWriter().integer(1, dim) : new ProtoWriter().text(2, dim),
    );
  }
  return writer;
}
