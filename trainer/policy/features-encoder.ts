import { LabError } from '../../src/domain/error.ts';
import type { ActionLayout, FeaturesPolicySpec } from '../../src/domain/policy-spec.ts';
import { type Observation, takesArgument } from '../../src/domain/space.ts';
import type { Sight } from './encode.ts';
import type { ObservationArrays } from './observation-arrays.ts';
import { observedNumbers } from './parameters.ts';

/**
 * Writes the newest `window` observations' numbers, oldest first, what was before the episode as zeros, and the mask of
 * legal actions. Throws `environment-invalid` when an observation has another number of features or one that is not finite,
 * or offers more candidates of a type than the policy has slots for.
 */
export function encodeFeatures(
  spec: FeaturesPolicySpec,
  layout: ActionLayout,
  { observation, history }: Sight,
  out: ObservationArrays,
  row: number,
): void {
  const { features, mask } = out;
  if (features === undefined || mask === undefined)
    throw new LabError('internal', { message: 'a features policy was given no room for features and mask' });
  const width = observedNumbers(spec);
  const start = row * spec.window * width;
  const shown = Math.min(spec.window, history.length);
  const first = start + (spec.window - shown) * width;
  features.fill(0, start, first);
  for (let i = 0; i < shown; i++) {
    const numbers = history[history.length - shown + i] ?? [];
    if (numbers.length !== spec.features) throw wrongCount(numbers.length, spec.features);
    const at = first + i * width;
    for (let j = 0; j < numbers.length; j++) {
      const value = numbers[j] ?? 0;
      if (!Number.isFinite(value)) throw notFinite(j, value);
      features[at + j] = value;
    }
    if (spec.window > 1) features[at + spec.features] = 1;
  }
  encodeMask(layout, observation, mask, row);
}

function encodeMask(
  layout: ActionLayout,
  { legal, candidates }: Observation,
  mask: Int32Array | Float32Array,
  row: number,
): void {
  const start = row * layout.size;
  mask.fill(0, start, start + layout.size);
  for (const type of legal) if (!takesArgument(type)) mask[start + layout.bare[type]] = 1;
  const used = { read: 0, select_tool: 0, input: 0 };
  for (const { type } of candidates) {
    const place = used[type]++;
    const { start: block, length } = layout.blocks[type];
    if (place >= length) {
      throw new LabError('environment-invalid', {
        message: `the observation offers more candidates of type ${type} than the ${length} that the policy has slots for`,
        hint: `offer fewer, or raise policy.argumentSlots.${type} in the config`,
      });
    }
    if (legal.includes(type)) mask[start + block + place] = 1;
  }
}

function wrongCount(got: number, wanted: number): LabError {
  return new LabError('environment-invalid', {
    message: `an observation has ${got} numeric features, and the policy reads ${wanted}`,
    hint:
      got === 0
        ? 'the environment shows text only: use policy.kind text'
        : `set policy.features to ${got} in the config`,
  });
}

function notFinite(place: number, value: number): LabError {
  return new LabError('environment-invalid', {
    message: `numeric feature ${place} of an observation is ${value}, wanted a finite number`,
    hint: 'correct the environment that gave it: a policy would make NaN of every probability',
  });
}
