import type { IterationMetrics } from '../domain/run.ts';
import type { QueuedSamples } from './sample-queue.ts';

/** What a row of metrics says of the batch that was trained on. */
export type BatchOutcome = Pick<
  IterationMetrics,
  'batchEpisodes' | 'batchSteps' | 'reward' | 'success' | 'truncatedShare' | 'meanSteps'
>;

/** Means over the episodes of a batch: all of them are scored, since void ones never come into one. 0 where there is none. */
export function batchOutcome(batch: readonly QueuedSamples[]): BatchOutcome {
  const mean = (of: (samples: QueuedSamples) => number): number =>
    batch.reduce((sum, samples) => sum + of(samples), 0) / Math.max(1, batch.length);
  return {
    batchEpisodes: batch.length,
    batchSteps: batch.reduce((sum, { header }) => sum + header.steps, 0),
    reward: mean(({ outcome }) => outcome.reward ?? 0),
    success: mean(({ outcome }) => Number(outcome.success)),
    truncatedShare: mean(({ outcome }) => Number(outcome.truncated)),
    meanSteps: mean(({ header }) => header.steps),
  };
}
