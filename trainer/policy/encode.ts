import type { ActionLayout, PolicySpec } from '../../src/domain/policy-spec.ts';
import type { Observation } from '../../src/domain/space.ts';
import { encodeFeatures } from './features-encoder.ts';
import type { ObservationArrays } from './observation-arrays.ts';
import type { EncodingMemory } from './observation-encoder.ts';
import { encoderOf } from './tokenizer.ts';

/** What the policy is to look at. */
export interface Sight {
  readonly observation: Observation;
  /** Numeric features of the episode's newest observations, oldest first, this one's last. */
  readonly history: readonly (readonly number[])[];
  /** Speeds up encoding one slot's observations after another; see `EncodingMemory`. */
  readonly memory?: EncodingMemory;
}

/**
 * Writes what the policy reads of an observation into row `row` of a batch; every element of the row is written. Throws
 * `environment-invalid` when the observation does not fit the policy. Call it with the same `spec` object each time.
 */
export function encodeSight(
  spec: PolicySpec,
  layout: ActionLayout,
  sight: Sight,
  out: ObservationArrays,
  row: number,
): void {
  if (spec.kind === 'text') encoderOf(spec, layout).encode(sight.observation, out, row, sight.memory);
  else encodeFeatures(spec, layout, sight, out, row);
}
