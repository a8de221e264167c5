import {
  type ObservationTensor,
  type ObservationTensorName,
  observationTensors,
  type PolicySpec,
} from '../../src/domain/policy-spec.ts';
import type { SessionTensor, Tensors } from '../session.ts';

/** Encoded observations of many rows, row-major: each tensor that the policy reads, in the element type its model takes. */
export type ObservationArrays = Readonly<Partial<Record<ObservationTensorName, Int32Array | Float32Array>>>;

/** Zeros for so many rows; `shared`: in memory that threads share. */
export function createObservationArrays(spec: PolicySpec, rows: number, shared = false): ObservationArrays {
  const arrays: Partial<Record<ObservationTensorName, Int32Array | Float32Array>> = {};
  for (const { name, element, width } of observationTensors(spec)) {
    const memory = shared ? new SharedArrayBuffer(4 * rows * width) : new ArrayBuffer(4 * rows * width);
    arrays[name] = element === 'u16' ? new Int32Array(memory) : new Float32Array(memory);
  }
  return arrays;
}

/** The first `rows` rows as the model's inputs: views, not copies. */
export function observationFeeds(spec: PolicySpec, arrays: ObservationArrays, rows: number): Tensors {
  return Object.fromEntries(
    observationTensors(spec).map((tensor): [string, SessionTensor] => [
      tensor.name,
      observationFeed(tensor, arrays[tensor.name]?.subarray(0, rows * tensor.width), rows),
    ]),
  );
}

function observationFeed(
  { shape }: ObservationTensor,
  data: Int32Array | Float32Array | undefined,
  rows: number,
): SessionTensor {
  const dims = [rows, ...shape];
  if (data instanceof Int32Array) return { dtype: 'i32', shape: dims, data };
  return { dtype: 'f32', shape: dims, data: data ?? new Float32Array(0) };
}
