import type { IterationMetrics } from '../domain/run.ts';
import type { QueuedSamples } from './sample-queue.ts';

/** What a row of metrics says of the batch that was trained on. */
export type BatchOutcome = Pick<
  IterationMetrics,
  'batchEpisodes' | 'batchSteps' | 'reward' | 'components' | 'success' | 'truncatedShare' | 'meanSteps'
>;

/** Means over the episodes of a batch: all of them are scored, since void ones never come into one. 0 where there is none. */
export function batchOutcome(batch: readonly QueuedSamples[]): BatchOutcome {
  const mean = (of: (samples: QueuedSamples) => number): number =>
    batch.reduce((sum, samples) => sum + of(samples), 0) / Math.max(1, batch.length);
  return {
    batchEpisodes: batch.length,
    batchSteps: batch.reduce((sum, { header }) => sum + header.steps, 0),
    reward: mean(({ outcome }) => outcome.reward ?? 0),
    components: meanComponents(batch),
    success: mean(({ outcome }) => Number(outcome.success)),
    truncatedShare: mean(({ outcome }) => Number(outcome.truncated)),
    meanSteps: mean(({ header }) => header.steps),
  };
}

/** Of every component that any episode of the batch was paid; one without it was paid 0. */
function meanComponents(batch: readonly QueuedSamples[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { outcome } of batch) {
    for (const [name, paid] of Object.entries(outcome.components)) sums[name] = (sums[name] ?? 0) + paid;
  }
  return Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / batch.length]));
}
