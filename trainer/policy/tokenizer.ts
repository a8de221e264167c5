import { LabError } from '../../src/domain/error.ts';
import type { ActionLayout, TextPolicySpec } from '../../src/domain/policy-spec.ts';
import { type Action, ARGUMENT_TYPES, type Observation, takesArgument } from '../../src/domain/space.ts';
import type { ObservationArrays } from './observation-arrays.ts';
import { type EncodingMemory, ObservationEncoder, placeInSet } from './observation-encoder.ts';

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
 * Place among an observation's candidates of the one that a flat index stands for; -1 where there is none. `memory`: what the
 * observation was encoded with, which knows without a look at every candidate.
 */
export function candidatePlace(
  layout: ActionLayout,
  { candidates }: Observation,
  index: number,
  memory?: EncodingMemory,
): number {
  if (memory !== undefined && memory.set?.candidates === candidates) return placeInSet(memory.set, index);
  const type = ARGUMENT_TYPES.find((each) => {
    const { start, length } = layout.blocks[each];
    return index >= start && index < start + length;
  });
  if (type === undefined) return -1;
  let left = index - layout.blocks[type].start;
  return candidates.findIndex((candidate) => candidate.type === type && left-- === 0);
}

/**
 * The action that a flat index stands for. Candidates of a type fill its block in the observation's order. `memory` as in
 * `candidatePlace`. Throws `environment-invalid` for an index that the observation does not offer.
 */
export function flatAction(
  layout: ActionLayout,
  observation: Observation,
  index: number,
  memory?: EncodingMemory,
): Action {
  const { legal, candidates } = observation;
  if (index < layout.slots) {
    const candidate = candidates[candidatePlace(layout, observation, index, memory)];
    if (candidate !== undefined && legal.includes(candidate.type))
      return { type: candidate.type, argument: candidate.text };
  } else {
    for (const type of BARE_TYPES) {
      if (layout.bare[type] === index && legal.includes(type)) return { type, argument: null };
    }
  }
  throw new LabError('environment-invalid', {
    message: `flat action ${index} is not among what the observation offers (${legal.join(', ')}; ${candidates.length} candidates)`,
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
