import { describe, expect, it } from 'vitest';
import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { batchOutcome } from '../../src/run/batch-outcome.ts';
import { Progress } from '../../src/run/progress.ts';
import { SampleQueue } from '../../src/run/sample-queue.ts';
import { StaleSamples } from '../../src/run/stale-samples.ts';
import { metricsOf } from '../store/fixture.ts';
import { episodeSummary } from '../support/summary.ts';

function push(queue: SampleQueue, changes: Partial<EpisodeSummary>): void {
  const summary = episodeSummary(changes);
  const attachments = { body: new Uint8Array(100), values: new Uint8Array(4 * summary.steps) };
  queue.push({ summary, bytes: 1, bootstrapValue: null, attachments });
}

describe('the queue of samples', () => {
  it('drops what has a step of too old a policy, wherever it stands, and counts the rest right', () => {
    const queue = new SampleQueue();
    for (const [firstPolicyVersion, steps] of [
      [3, 5],
      [1, 7],
      [4, 2],
      [2, 9],
    ] as const) {
      push(queue, { firstPolicyVersion, steps, policyVersion: 5 });
    }
    expect(queue.dropOlder(3).map(({ header }) => header.steps)).toEqual([7, 9]);
    expect(queue.steps).toBe(7);
    expect(queue.bytes).toBe(28);
    expect(queue.dropOlder(3)).toEqual([]);
    expect(queue.take(6).map(({ header }) => header.steps)).toEqual([5, 2]);
    expect(queue.steps).toBe(0);
  });
});

describe('samples of too old a policy', () => {
  it('are counted in the row, and told of at most once a minute', () => {
    const queue = new SampleQueue();
    const progress = new Progress({ episodes: 0, envSteps: 0, voidEpisodes: 0 }, null);
    const events: string[] = [];
    const journal = {
      event: (_level: string, kind: string, _subject: string, message: string) =>
        void events.push(`${kind}: ${message}`),
    };
    const stale = new StaleSamples(2, queue, progress, journal);
    progress.policyVersion = 5;
    const age = (firstPolicyVersion: number): void => push(queue, { firstPolicyVersion, steps: 6 });
    age(3);
    stale.drop(0);
    expect(queue.steps).toBe(6);
    age(2);
    stale.drop(0);
    age(1);
    age(0);
    stale.drop(30_000);
    expect(queue.steps).toBe(6);
    expect(events).toEqual([
      'samples-stale: 1 episodes with 6 steps were left out of batches: a step of theirs was more than 2 policy versions old (sampling.maxStaleness)',
    ]);
    progress.beginUpdate(queue.take(6));
    expect(progress.finishIteration(6, 1, metricsOf(6)).staleSteps).toBe(18);
    expect(progress.finishIteration(7, 1, metricsOf(7)).staleSteps).toBe(0);
    age(1);
    stale.drop(61_000);
    expect(events[1]).toContain('3 episodes with 18 steps');
  });
});

describe('a row of metrics', () => {
  const success = { success: true, reward: 1, steps: 4, truncated: false };
  const failure = { success: false, reward: -0.5, steps: 8, truncated: true };

  it('is over the batch that was trained on, not over what happened to be stored since the row before', () => {
    const queue = new SampleQueue();
    const progress = new Progress({ episodes: 0, envSteps: 0, voidEpisodes: 0 }, null);
    progress.setRunning(true);
    for (const episode of [success, failure, success, success]) {
      push(queue, episode);
      progress.add(episodeSummary(episode));
    }
    progress.add(episodeSummary({ trust: 'void', steps: 3, reward: null }));
    progress.beginUpdate(queue.take(12));
    const first = progress.finishIteration(1, 1, metricsOf(1));
    expect(first).toMatchObject({
      batchEpisodes: 2,
      batchSteps: 12,
      reward: 0.25,
      success: 0.5,
      truncatedShare: 0.5,
      meanSteps: 6,
      voidShare: 0.2,
      envSteps: 23,
    });
    // Nothing was sampled for the second: its batch was in the queue.
    progress.beginUpdate(queue.take(8));
    const second = progress.finishIteration(2, 1, metricsOf(2));
    expect(second).toMatchObject({
      batchEpisodes: 2,
      reward: 1,
      success: 1,
      truncatedShare: 0,
      meanSteps: 4,
      voidShare: 0,
    });
    expect(second.envStepsPerS).toBeGreaterThan(0);
    expect(second.envStepsPerS).toBeLessThanOrEqual(first.envStepsPerS);
  });

  it('of nothing is 0, not NaN', () => {
    expect(batchOutcome([])).toEqual({
      batchEpisodes: 0,
      batchSteps: 0,
      reward: 0,
      success: 0,
      truncatedShare: 0,
      meanSteps: 0,
    });
  });
});
