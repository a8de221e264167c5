import { graphError } from './graph-error.ts';
import type { Dtype, Node, NodeOf, OpName, Ops, Shape, TensorData, TensorType } from './node.ts';
import { inferType } from './shape-rules.ts';

/** Constants of at most this many bytes are shared when equal. */
const SHARED_CONSTANT_BYTES = 1024;

/** Builds nodes. Equal nodes are built once: an op on the same inputs with the same attributes is the same node. */
export interface Graph {
  /** A tensor fed at each run. Names are unique; throws `graph-invalid` otherwise. */
  input(name: string, dtype: Dtype, shape: Shape): NodeOf<'input'>;
  /** A float32 tensor fed at each run, of a shape without a named axis, in which a loss can be differentiated. */
  parameter(name: string, shape: readonly number[]): NodeOf<'parameter'>;
  /** A tensor that is part of the graph; its element type is that of the array (Uint8Array: bool). */
  constant(data: TensorData, shape: readonly number[]): NodeOf<'constant'>;
  /** A constant of shape []; float32 unless told otherwise. */
  scalar(value: number, dtype?: Dtype): NodeOf<'constant'>;
  /** Any op by name: what ops.ts is made of. Infers and checks shapes; throws `graph-invalid`. */
  node<K extends OpName>(op: K, inputs: Ops[K]['inputs'], attributes: Ops[K]['attributes']): NodeOf<K>;
}

/** An empty graph. */
export function createGraph(): Graph {
  return new NodeTable();
}

class NodeTable implements Graph {
  readonly #nodes: Node[] = [];
  readonly #known = new Map<string, Node>();
  readonly #names = new Set<string>();

  input(name: string, dtype: Dtype, shape: Shape): NodeOf<'input'> {
    return this.node('input', [], { name, dtype, shape });
  }

  parameter(name: string, shape: readonly number[]): NodeOf<'parameter'> {
    return this.node('parameter', [], { name, shape });
  }

  constant(data: TensorData, shape: readonly number[]): NodeOf<'constant'> {
    return this.node('constant', [], { data: data.slice(), shape });
  }

  scalar(value: number, dtype: Dtype = 'f32'): NodeOf<'constant'> {
    return this.constant(SCALAR_DATA[dtype](value), []);
  }

  node<K extends OpName>(op: K, inputs: Ops[K]['inputs'], attributes: Ops[K]['attributes']): NodeOf<K> {
    for (const input of inputs) {
      if (this.#nodes[input.id] !== input) {
        throw graphError(
          `graph op "${op}" was given node ${input.id} ("${input.op}") of another graph`,
          'Build all nodes with the same graph.',
        );
      }
    }
    const type = inferType(op, inputs, attributes);
    if ('name' in attributes) this.#claim(attributes.name);
    const key = keyOf(op, inputs, attributes);
    const known = key === undefined ? undefined : this.#known.get(key);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the key begins with the op
    if (known !== undefined) return known as NodeOf<K>;
    const node = freeze(this.#nodes.length, { op, inputs, attributes }, type);
    this.#nodes.push(node);
    if (key !== undefined) this.#known.set(key, node);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made of the op above; the compiler cannot see through K
    return node as NodeOf<K>;
  }

  #claim(name: string): void {
    if (name === '' || name.startsWith('%') || this.#names.has(name)) {
      throw graphError(
        `graph input "${name}": wanted a name that is not empty, not taken and does not begin with %`,
        'Give every input and parameter its own name.',
      );
    }
    this.#names.add(name);
  }
}

const SCALAR_DATA: Readonly<Record<Dtype, (value: number) => TensorData>> = {
  f32: (value) => Float32Array.of(value),
  i32: (value) => Int32Array.of(value),
  i64: (value) => BigInt64Array.of(BigInt(value)),
  bool: (value) => Uint8Array.of(value === 0 ? 0 : 1),
};

function freeze<K extends OpName>(
  id: number,
  what: { op: K; inputs: Ops[K]['inputs']; attributes: Ops[K]['attributes'] },
  type: TensorType,
): Node {
  const node = Object.freeze({
    id,
    op: what.op,
    inputs: Object.freeze([...what.inputs]),
    attributes: frozenCopy(what.attributes),
    dtype: type.dtype,
    shape: Object.freeze([...type.shape]),
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the compiler cannot see through K
  return node as unknown as Node;
}

/** A copy that the caller's arrays cannot change; data is not copied, see `constant`. */
function frozenCopy<T extends object>(attributes: T): T {
  const entries = Object.entries(attributes).map(([name, value]: [string, unknown]) => [
    name,
    Array.isArray(value) ? Object.freeze([...value]) : value,
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same names with the same values
  return Object.freeze(Object.fromEntries(entries)) as T;
}

/** Text that two nodes share exactly when they compute the same; undefined for a node that is not to be shared. */
function keyOf(op: OpName, inputs: readonly Node[], attributes: object): string | undefined {
  const data = 'data' in attributes ? attributes.data : undefined;
  const ids = inputs.map((input) => input.id).join(',');
  if (!ArrayBuffer.isView(data)) return `${op}(${ids})${JSON.stringify(attributes)}`;
  if (data.byteLength > SHARED_CONSTANT_BYTES) return undefined;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
  const shape = 'shape' in attributes ? JSON.stringify(attributes.shape) : '';
  return `${op} ${data.constructor.name} ${shape} ${bytes}`;
}
