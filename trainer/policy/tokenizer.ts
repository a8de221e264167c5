import { LabError } from '../../src/domain/error.ts';
import type { ActionLayout, TextPolicySpec } from '../../src/domain/policy-spec.ts';
import { type Action, ARGUMENT_TYPES, type Observation, takesArgument } from '../../src/domain/space.ts';
import type { ObservationArrays } from './observation-arrays.ts';
import { ObservationEncoder } from './observation-encoder.ts';

const BARE_TYPES = ['confirm', 'submit', 'noop'] as const;

/** Encoders with their caches, as long as the spec that they belong to is in use. */
const encoders = new WeakMap<TextPolicySpec, ObservationEncoder>();

/**
 * Writes an observation as hashed tokens into row `row` of a batch; every element of the row is written.
 *
 * Words are lower-cased runs of letters and digits, hashed into 1 … vocabulary − 1; 0 is padding. Line 0, the task, goes on
 * over the first `taskSentences` sentences; the newest of the other lines fill the rest, the newest last, but for line 1: while
 * it is among them it stands behind the newest. It is the screen where an environment has one, and changes at each step, while
 * the turns before it stay: a sampler goes on reading from them.
 *
 * A candidate is described by its own text and kind, the two words to its left where it first occurs in the task, the two
 * words left of its most recent occurrence in the other lines shown, and that line's age. Each feature is hashed together
 * with its place, so that all seven can be summed. Only occurrences as a whole name count.
 *
 * Call it with the same `spec` object each time: the caches hang on it. Throws `environment-invalid` when a type has more
 * candidates than the policy has slots for, and `config-invalid` for a spec without room for anything but the task.
 */
export function encodeObservation(
  spec: TextPolicySpec,
  layout: ActionLayout,
  observation: Observation,
  out: ObservationArrays,
  row: number,
): void {
  encoderOf(spec, layout).encode(observation, out, row);
}

/** The encoder behind `encodeObservation`: made once for a `spec` object. Throws `config-invalid` as that does. */
export function encoderOf(spec: TextPolicySpec, layout: ActionLayout): ObservationEncoder {
  let encoder = encoders.get(spec);
  if (encoder === undefined) {
    encoder = new ObservationEncoder(spec, layout);
    encoders.set(spec, encoder);
  }
  return encoder;
}

/**
 * The action that a flat index stands for. Candidates of a type fill its block in the observation's order.
 * Throws `environment-invalid` for an index that the observation does not offer.
 */
export function flatAction(layout: ActionLayout, observation: Observation, index: number): Action {
  for (const type of BARE_TYPES) {
    if (layout.bare[type] === index && observation.legal.includes(type)) return { type, argument: null };
  }
  for (const type of ARGUMENT_TYPES) {
    const { start, length } = layout.blocks[type];
    if (index < start || index >= start + length || !observation.legal.includes(type)) continue;
    let left = index - start;
    for (const candidate of observation.candidates) {
      if (candidate.type === type && left-- === 0) return { type, argument: candidate.text };
    }
  }
  throw new LabError('environment-invalid', {
    message: `flat action ${index} is not among what the observation offers (${observation.legal.join(', ')}; ${observation.candidates.length} candidates)`,
  });
}

/**
 * The flat index of an action: the inverse of `flatAction`. Throws `environment-invalid` for an action that the observation
 * does not offer.
 */
export function actionIndex(layout: ActionLayout, observation: Observation, action: Action): number {
  const { type, argument } = action;
  if (observation.legal.includes(type)) {
    if (!takesArgument(type)) return layout.bare[type];
    let place = 0;
    for (const candidate of observation.candidates) {
      if (candidate.type !== type) continue;
      if (candidate.text === argument && place < layout.blocks[type].length)
        return layout.blocks[type].start + place;
      place++;
    }
  }
  throw new LabError('environment-invalid', {
    message: `action ${type} ${JSON.stringify(argument)} is not among what the observation offers (${observation.legal.join(', ')}; ${observation.candidates.length} candidates)`,
  });
}
