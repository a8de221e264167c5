import type { Policy } from '../../trainer/policy/inference.ts';
import type { ObservationArrays } from '../../trainer/policy/observation-arrays.ts';
import type { ActionLayout } from '../domain/policy-spec.ts';

/** Stands in for the policy: every legal flat action is as probable as another, every value is 0. Needs no weights. */
export function createRandomActor({ size }: ActionLayout): Policy {
  return {
    provider: 'none',
    fellBackFrom: [],
    load() {
      // It has no weights.
    },
    run: async (rows, { mask }: ObservationArrays) =>
      await Promise.resolve({
        logProbabilities: uniform(mask ?? new Float32Array(rows * size), rows, size),
        values: new Float32Array(rows),
      }),
    close: async () => await Promise.resolve(),
  };
}

/** [rows, size]: −log of the number of legal actions where the mask is set, −∞ elsewhere. */
function uniform(mask: Int32Array | Float32Array, rows: number, size: number): Float32Array {
  const logProbabilities = new Float32Array(rows * size).fill(Number.NEGATIVE_INFINITY);
  for (let row = 0; row < rows; row++) {
    const end = (row + 1) * size;
    let legal = 0;
    for (let i = row * size; i < end; i++) if (mask[i]) legal++;
    for (let i = row * size; i < end; i++) if (mask[i]) logProbabilities[i] = -Math.log(legal);
  }
  return logProbabilities;
}
