import type { RandomStream } from '../../../src/domain/random.ts';
import type { Dtype, Node } from '../../../trainer/graph/node.ts';
import { toModel } from '../../../trainer/graph/onnx-file.ts';
import { createSession, type SessionTensor, type Tensors } from '../../../trainer/session.ts';
import type { Leaf } from './recipes.ts';
import type { Plain } from './reference.ts';

/** Runs the graph once in onnxruntime, on plain tensors by the names of its inputs; more than it asks for may be given. */
export async function runOnce(
  outputs: Readonly<Record<string, Node>>,
  tensors: Readonly<Record<string, Plain>>,
): Promise<Tensors> {
  const session = await createSession(toModel(outputs), { threads: 1 });
  try {
    const feeds = session.inputs.map((name): [string, SessionTensor] => [name, toTensor(tensors[name]!)]);
    return await session.run(Object.fromEntries(feeds) as Tensors);
  } finally {
    await session.close();
  }
}

const CONVERSIONS: Readonly<Record<Dtype, (plain: Plain) => SessionTensor>> = {
  f32: ({ shape, data }) => ({ dtype: 'f32', shape, data: Float32Array.from(data) }),
  i32: ({ shape, data }) => ({ dtype: 'i32', shape, data: Int32Array.from(data) }),
  i64: ({ shape, data }) => ({ dtype: 'i64', shape, data: BigInt64Array.from(data, BigInt) }),
  bool: ({ shape, data }) => ({ dtype: 'bool', shape, data: Uint8Array.from(data) }),
};

function toTensor(plain: Plain): SessionTensor {
  return CONVERSIONS[plain.dtype](plain);
}

/** Quarters from −2 to 2 (so that some are equal), whole numbers from −3 to 3, or what the leaf asks for. */
export function fill({ dtype, shape, range }: Leaf, length: number, random: RandomStream): Plain {
  const dims = shape.map((dim) => (typeof dim === 'string' ? length : dim));
  const size = dims.reduce((a, b) => a * b, 1);
  const one = (): number => {
    if (dtype === 'bool') return random.integer(2);
    if (typeof range === 'object') return random.integer(range.below);
    const value = dtype === 'f32' ? (random.integer(17) - 8) / 4 : random.integer(7) - 3;
    if (range === undefined) return value;
    const nonzero = value === 0 ? 1 : value;
    return range === 'positive' ? Math.abs(nonzero) : nonzero;
  };
  return { dtype, shape: dims, data: Array.from({ length: size }, one) };
}
