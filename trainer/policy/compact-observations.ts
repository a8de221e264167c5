import {
  type ObservationTensorName,
  observationTensors,
  type PolicySpec,
} from '../../src/domain/policy-spec.ts';
import type { SessionTensor, Tensors } from '../session.ts';
import { type DistinctRows, distinctRows, selectDistinct } from './distinct-rows.ts';
import type { ObservationArrays } from './observation-arrays.ts';

/** Observation tensors [n, width] that consist of rows of whole numbers, each read alone: lines, and candidates. */
const ROW_TENSORS = ['tokens', 'candidates'] as const satisfies readonly ObservationTensorName[];
export type RowTensorName = (typeof ROW_TENSORS)[number];

/** The observations of many samples; of tensors of rows, only the distinct rows. */
export type CompactObservations = Readonly<
  Partial<Record<ObservationTensorName, DistinctRows | Float32Array>>
>;

/** Name of the input that says which distinct row stands where, i32 [B, n]. */
export function rowsInput(name: RowTensorName): string {
  return `${name}.rows`;
}

export function isRowTensor(name: ObservationTensorName): name is RowTensorName {
  return ROW_TENSORS.some((each) => each === name);
}

/** The first `count` samples, compacted. Floats stay views of the arrays given. */
export function compactObservations(
  spec: PolicySpec,
  arrays: ObservationArrays,
  count: number,
): CompactObservations {
  const compact: Partial<Record<ObservationTensorName, DistinctRows | Float32Array>> = {};
  for (const { name, shape, width } of observationTensors(spec)) {
    const array = arrays[name];
    if (array instanceof Float32Array) compact[name] = array.subarray(0, count * width);
    else if (array !== undefined) {
      const [each = 1] = shape;
      compact[name] = distinctRows(array, width / each, count * each);
    }
  }
  return compact;
}

/** Copies the observations of some samples. */
export function selectSamples(
  spec: PolicySpec,
  compact: CompactObservations,
  samples: Int32Array,
): CompactObservations {
  const selected: Partial<Record<ObservationTensorName, DistinctRows | Float32Array>> = {};
  for (const { name, shape, width } of observationTensors(spec)) {
    const all = compact[name];
    const [each = 1] = shape;
    if (all instanceof Float32Array) selected[name] = gatherFloats(all, width, samples);
    else if (all !== undefined) selected[name] = selectDistinct(all, { width: width / each, each, samples });
  }
  return selected;
}

/** The model's inputs for `count` samples: see `networkInputs`. */
export function compactFeeds(spec: PolicySpec, compact: CompactObservations, count: number): Tensors {
  const feeds: Record<string, SessionTensor> = {};
  for (const { name, shape, width } of observationTensors(spec)) {
    const data = compact[name];
    if (data instanceof Float32Array) {
      feeds[name] = { dtype: 'f32', shape: [count, ...shape], data };
    } else if (data !== undefined && isRowTensor(name)) {
      const [each = 1] = shape;
      const rowWidth = width / each;
      feeds[name] = { dtype: 'i32', shape: [data.table.length / rowWidth, rowWidth], data: data.table };
      feeds[rowsInput(name)] = { dtype: 'i32', shape: [count, each], data: data.ids };
    }
  }
  return feeds;
}

/** Copies samples of `width` numbers each. */
export function gatherFloats(from: Float32Array, width: number, samples: Int32Array): Float32Array {
  const gathered = new Float32Array(samples.length * width);
  let place = 0;
  for (const sample of samples) {
    for (let at = sample * width; at < (sample + 1) * width; at++) gathered[place++] = from[at] ?? 0;
  }
  return gathered;
}
