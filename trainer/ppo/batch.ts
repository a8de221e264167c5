import { LabError } from '../../src/domain/error.ts';
import {
  type ActionLayout,
  actionLayout,
  CANDIDATE_TOKENS,
  type PolicySpec,
} from '../../src/domain/policy-spec.ts';
import type { Attachments } from '../../src/protocol/frame.ts';
import { SAMPLE_TENSORS, type SamplesHeader } from '../../src/protocol/trainer.ts';
import { type Discounts, explainedVariance, normalise, writeAdvantages } from './advantages.ts';

/** One episode's samples, as src/protocol/trainer.ts describes them. */
export interface EpisodeSamples {
  readonly steps: number;
  /** V(s_T); 0 when the episode terminated. */
  readonly finalValue: number;
  readonly tokens: Uint16Array;
  readonly candidates: Uint16Array;
  readonly mask: Uint8Array;
  readonly actions: Uint16Array;
  readonly logProbabilities: Float32Array;
  readonly values: Float32Array;
  readonly rewards: Float32Array;
  readonly versions: Uint32Array;
}

/** Samples of many episodes in flat arrays, in the element types that the model takes; n samples, A flat actions. */
export interface Batch {
  readonly count: number;
  /** i32 [n, sentences, tokens] */
  readonly tokens: Int32Array;
  /** i32 [n, slots, CANDIDATE_TOKENS] */
  readonly candidates: Int32Array;
  /** [n, A] */
  readonly mask: Float32Array;
  /** [n] */
  readonly actions: Int32Array;
  /** [n, A] */
  readonly oldLogProbabilities: Float32Array;
  /** [n], normalised over the batch. */
  readonly advantages: Float32Array;
  /** [n]: advantage before normalisation + value. */
  readonly returns: Float32Array;
  /** Mean over samples of (policy version now − version that took the step). */
  readonly staleness: number;
  readonly explainedVariance: number;
}

/** Elements of each tensor of one sample. */
function widths(spec: PolicySpec, layout: ActionLayout): Record<(typeof SAMPLE_TENSORS)[number], number> {
  return {
    tokens: spec.sentences * spec.tokens,
    candidates: layout.slots * CANDIDATE_TOKENS,
    mask: layout.size,
    actions: 1,
    logProbabilities: layout.size,
    values: 1,
    rewards: 1,
    versions: 1,
  };
}

const ELEMENT_BYTES = {
  tokens: 2,
  candidates: 2,
  mask: 1,
  actions: 2,
  logProbabilities: 4,
  values: 4,
  rewards: 4,
  versions: 4,
} as const;

/**
 * Copies an episode out of a message, whose attachments need not be aligned. Throws `protocol-invalid` when a tensor is
 * missing or of another size, or when an episode that was cut short brings no value to go on from.
 */
export function readSamples(
  spec: PolicySpec,
  header: SamplesHeader,
  attachments: Attachments,
): EpisodeSamples {
  const width = widths(spec, actionLayout(spec));
  const copies = new Map<string, ArrayBuffer>();
  for (const name of SAMPLE_TENSORS) {
    const bytes = attachments[name];
    const wanted = header.steps * width[name] * ELEMENT_BYTES[name];
    if (bytes?.byteLength !== wanted) {
      throw new LabError('protocol-invalid', {
        message: `samples of ${header.id}: "${name}" has ${bytes?.byteLength ?? 'no'} bytes, wanted ${wanted} for ${header.steps} steps`,
        hint: 'the worker must use the policy shape that the trainer was started with',
      });
    }
    copies.set(name, new Uint8Array(bytes).buffer);
  }
  if (!header.terminated && header.bootstrapValue === null) {
    throw new LabError('protocol-invalid', {
      message: `samples of ${header.id}: neither terminated nor with a bootstrapValue`,
      hint: 'send the value of the last observation of a truncated episode',
    });
  }
  const copy = (name: (typeof SAMPLE_TENSORS)[number]): ArrayBuffer => copies.get(name) ?? new ArrayBuffer(0);
  return {
    steps: header.steps,
    finalValue: header.terminated ? 0 : (header.bootstrapValue ?? 0),
    tokens: new Uint16Array(copy('tokens')),
    candidates: new Uint16Array(copy('candidates')),
    mask: new Uint8Array(copy('mask')),
    actions: new Uint16Array(copy('actions')),
    logProbabilities: new Float32Array(copy('logProbabilities')),
    values: new Float32Array(copy('values')),
    rewards: new Float32Array(copy('rewards')),
    versions: new Uint32Array(copy('versions')),
  };
}

/** Joins episodes, in order, and computes their advantages and returns. `version` is the policy version now. */
export function joinEpisodes(
  spec: PolicySpec,
  episodes: readonly EpisodeSamples[],
  discounts: Discounts,
  version: number,
): Batch {
  const width = widths(spec, actionLayout(spec));
  const count = episodes.reduce((sum, { steps }) => sum + steps, 0);
  const tokens = new Int32Array(shared(count * width.tokens));
  const candidates = new Int32Array(shared(count * width.candidates));
  const mask = new Float32Array(shared(count * width.mask));
  const actions = new Int32Array(count);
  const oldLogProbabilities = new Float32Array(shared(count * width.logProbabilities));
  const values = new Float32Array(count);
  const advantages = new Float32Array(count);
  let row = 0;
  let age = 0;
  for (const episode of episodes) {
    tokens.set(episode.tokens, row * width.tokens);
    candidates.set(episode.candidates, row * width.candidates);
    mask.set(episode.mask, row * width.mask);
    actions.set(episode.actions, row);
    oldLogProbabilities.set(episode.logProbabilities, row * width.logProbabilities);
    values.set(episode.values, row);
    writeAdvantages(episode, discounts, advantages, row);
    for (const old of episode.versions) age += version - old;
    row += episode.steps;
  }
  const returns = advantages.map((advantage, i) => advantage + (values[i] ?? 0));
  normalise(advantages);
  return {
    count,
    tokens,
    candidates,
    mask,
    actions,
    oldLogProbabilities,
    advantages,
    returns,
    staleness: age / Math.max(1, count),
    explainedVariance: explainedVariance(returns, values),
  };
}

/** Memory for so many elements of four bytes, which the gradient threads read without a copy. */
function shared(elements: number): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * elements);
}
