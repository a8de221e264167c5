import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { episodeIdSchema } from '../../src/domain/id.ts';
import { batchOutcome } from '../../src/run/batch-outcome.ts';
import { Progress } from '../../src/run/progress.ts';
import { SampleQueue } from '../../src/run/sample-queue.ts';
import { StaleSamples } from '../../src/run/stale-samples.ts';
import { WasteMeter } from '../../src/run/waste-meter.ts';
import { metricsOf } from '../store/fixture.ts';
import { episodeSummary } from '../support/summary.ts';

function push(queue: SampleQueue, changes: Partial<EpisodeSummary>): void {
  const summary = episodeSummary(changes);
  const attachments = { body: new Uint8Array(100), samples: new Uint8Array(4 * summary.steps) };
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

/** Parts around a queue, and what they were told. */
function leavingOut(most: { versions: number; bytes: number }): {
  queue: SampleQueue;
  progress: Progress;
  waste: WasteMeter;
  stale: StaleSamples;
  events: string[];
} {
  const queue = new SampleQueue();
  const progress = new Progress({ episodes: 0, envSteps: 0, voidEpisodes: 0 }, null);
  const waste = new WasteMeter();
  const events: string[] = [];
  const journal = {
    event: (_level: string, kind: string, _subject: string, message: string) =>
      void events.push(`${kind}: ${message}`),
  };
  return {
    queue,
    progress,
    waste,
    events,
    stale: new StaleSamples(most, { queue, progress, waste, journal }),
  };
}

describe('samples of too old a policy', () => {
  it('are counted in the row, with their time, and told of at most once a minute', () => {
    const { queue, progress, stale, events } = leavingOut({ versions: 2, bytes: 2 ** 20 });
    progress.policyVersion = 5;
    const age = (firstPolicyVersion: number): void =>
      push(queue, { firstPolicyVersion, steps: 6, wallMs: 1500 });
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
      'samples-stale: 1 episodes with 6 steps and 1.5 s of sampling were left out of batches: a step of theirs was more than 2 policy versions old (sampling.maxStaleness)',
    ]);
    progress.beginUpdate(queue.take(6), 0);
    const row = progress.finishIteration(6, 1, metricsOf(6));
    expect(row).toMatchObject({ staleSteps: 18, staleEpisodes: 3, staleS: 4.5 });
    expect(progress.finishIteration(7, 1, metricsOf(7))).toMatchObject({ staleSteps: 0, staleS: 0 });
    age(1);
    stale.drop(61_000);
    expect(events[1]).toContain('3 episodes with 18 steps and 4.5 s of sampling');
  });
});

describe('too many samples', () => {
  it('lose their oldest, as many as it takes, and these are told apart from those that are too old', () => {
    const { queue, progress, stale, events, waste } = leavingOut({ versions: 2, bytes: 2 ** 20 });
    const stored = episodeSummary({ steps: 2 ** 16, wallMs: 2000 });
    for (const id of ['e1', 'e2', 'e3', 'e4', 'e5', 'e6']) {
      waste.addStored(stored);
      push(queue, { ...stored, id: episodeIdSchema.parse(id) });
    }
    expect(queue.bytes).toBe(1.5 * 2 ** 20);
    stale.shed(0);
    expect(queue.bytes).toBe(2 ** 20);
    expect(queue.take(1)[0]?.header.id).toBe('e3');
    expect(events).toEqual([
      'samples-dropped: 2 episodes with 131072 steps and 4.0 s of sampling were left out of batches: they were the oldest of more than 1 MiB (sampling.queueMiB, and unackedMiB of each worker)',
    ]);
    stale.drop(0);
    expect(events).toHaveLength(1);
    expect(progress.finishIteration(1, 1, metricsOf(1))).toMatchObject({ staleEpisodes: 2, staleS: 4 });
    expect(waste.waste).toMatchObject({ useful: 8, stale: 4 });
  });

  it('are never more than allowed, and never fewer than need be', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 }),
        fc.nat(2000),
        (lengths, most) => {
          const queue = new SampleQueue();
          for (const steps of lengths) push(queue, { steps });
          const before = queue.bytes;
          const dropped = queue.dropBeyond(most);
          expect(queue.bytes).toBeLessThanOrEqual(most);
          expect(queue.bytes + dropped.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(before);
          const last = dropped.at(-1)?.bytes ?? Number.POSITIVE_INFINITY;
          expect(queue.bytes + last).toBeGreaterThan(most);
        },
      ),
    );
  });

  it('keep nothing of the message that they came in', () => {
    const queue = new SampleQueue();
    const message = new Uint8Array(2 ** 20).fill(7);
    const attachments = { body: message.subarray(0, 1000), samples: message.subarray(1000, 1016) };
    queue.push({ summary: episodeSummary({ steps: 4 }), bytes: 1016, bootstrapValue: null, attachments });
    const [queued] = queue.take(1);
    expect(queued?.samples).toEqual(Buffer.alloc(16, 7));
    expect(queued?.samples.buffer.byteLength).toBe(16);
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
    progress.beginUpdate(queue.take(12), 0);
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
    progress.beginUpdate(queue.take(8), 0);
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
      components: {},
      batchEpisodes: 0,
      batchSteps: 0,
      reward: 0,
      success: 0,
      truncatedShare: 0,
      meanSteps: 0,
    });
  });
});
