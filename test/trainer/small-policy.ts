import {
  actionLayout,
  CANDIDATE_TOKENS,
  policySpecSchema,
  type TextPolicySpec,
} from '../../src/domain/policy-spec.ts';
import type { RandomStream } from '../../src/domain/random.ts';
import { type TrainerOptions, trainerOptionsSchema } from '../../src/domain/trainer-options.ts';
import type { Batch } from '../../trainer/ppo/batch.ts';

/** The text policy of a shape. */
export function textPolicy(shape: Readonly<Record<string, unknown>>): TextPolicySpec {
  const spec = policySpecSchema.parse({ kind: 'text', ...shape });
  if (spec.kind !== 'text') throw new Error(`${spec.kind} is not text`);
  return spec;
}

/** A policy small enough to differentiate numerically in all its parameters. */
export const SMALL = textPolicy({
  vocabulary: 64,
  embedding: 4,
  hidden: 5,
  sentences: 3,
  taskSentences: 1,
  tokens: 4,
  argumentSlots: { read: 2, select_tool: 2, input: 3 },
});
export const SMALL_LAYOUT = actionLayout(SMALL);

export interface Rows {
  tokens: Int32Array;
  candidates: Int32Array;
  mask: Float32Array;
}

/** Random rows; some words are padding, some actions illegal, whole types among them, but `noop` is always legal. */
export function randomRows(spec: TextPolicySpec, count: number, random: RandomStream): Rows {
  const { slots, size, bare, blocks } = actionLayout(spec);
  const mask = Float32Array.from({ length: count * size }, () => (random.next() < 0.7 ? 1 : 0));
  for (let row = 0; row < count; row++) {
    mask[row * size + bare.noop] = 1;
    if (row % 3 === 0) mask.fill(0, row * size, row * size + blocks.read.length);
  }
  return {
    tokens: Int32Array.from({ length: count * spec.sentences * spec.tokens }, () =>
      random.next() < 0.3 ? 0 : random.integer(spec.vocabulary),
    ),
    candidates: Int32Array.from({ length: count * slots * CANDIDATE_TOKENS }, () =>
      random.integer(spec.vocabulary),
    ),
    mask,
  };
}

/** A batch of rows under the given old log-probabilities. */
export function batchOf(
  rows: Rows,
  actions: Int32Array,
  oldLogProbabilities: Float32Array,
  advantages: Float32Array,
  returns: Float32Array,
): Batch {
  return {
    count: actions.length,
    observations: rows,
    // Who an episode is changes no gradient: all rows are of one.
    episodes: [{ id: 'e1', start: 0, steps: actions.length }],
    actions,
    oldLogProbabilities,
    advantages,
    returns,
    oldValues: returns,
    staleness: 0,
    stalest: 0,
    staleCounts: [],
    explainedVariance: 0,
  };
}

/** Of a run whose config is silent. */
export const OPTIONS: TrainerOptions = trainerOptionsSchema.parse({});
