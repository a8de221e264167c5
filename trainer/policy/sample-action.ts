import type { ActionMode } from '../../src/domain/episode.ts';
import { LabError } from '../../src/domain/error.ts';
import type { RandomStream } from '../../src/domain/random.ts';

/**
 * The index of the action to take, given the joint log-probabilities [A] and a mask [A] of what is legal: drawn with one
 * number of the stream, or the most probable (the first of equals). Never an illegal one, whatever rounding leaves over.
 * Throws `environment-invalid` when none is legal.
 */
export function chooseAction(
  logProbabilities: Float32Array,
  mask: Int32Array | Float32Array,
  mode: ActionMode,
  random: RandomStream,
): number {
  const chosen =
    mode === 'greedy' ? mostProbable(logProbabilities, mask) : draw(logProbabilities, mask, random.next());
  if (chosen < 0) {
    throw new LabError('environment-invalid', {
      message: 'an observation offers no action at all',
      hint: 'an environment must offer at least one legal action, or end the episode',
    });
  }
  return chosen;
}

/** Entropy of the distribution over the legal actions, in nats. */
export function actionEntropy(logProbabilities: Float32Array, mask: Int32Array | Float32Array): number {
  let entropy = 0;
  for (let i = 0; i < logProbabilities.length; i++) {
    const value = logProbabilities[i] ?? 0;
    if (mask[i]) entropy -= Math.exp(value) * value;
  }
  return entropy;
}

function mostProbable(logProbabilities: Float32Array, mask: Int32Array | Float32Array): number {
  let best = -1;
  let highest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < logProbabilities.length; i++) {
    const value = logProbabilities[i] ?? 0;
    if (!mask[i] || value <= highest) continue;
    best = i;
    highest = value;
  }
  return best;
}

function draw(logProbabilities: Float32Array, mask: Int32Array | Float32Array, uniform: number): number {
  // The sum is not exactly 1: rounding, and probabilities held above e^-50.
  let total = 0;
  for (let i = 0; i < logProbabilities.length; i++) {
    if (mask[i]) total += Math.exp(logProbabilities[i] ?? 0);
  }
  let left = uniform * total;
  let last = -1;
  for (let i = 0; i < logProbabilities.length; i++) {
    if (!mask[i]) continue;
    last = i;
    left -= Math.exp(logProbabilities[i] ?? 0);
    if (left < 0) return i;
  }
  return last;
}
