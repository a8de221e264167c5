import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { episodeId } from '../../src/domain/id.ts';
import { EpisodeIntake, type ReceivedEpisode } from '../../src/run/episode-intake.ts';
import type { RunStore } from '../../src/store/index-writer.ts';
import { episodeSummary } from '../support/summary.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function received(n: number, worker = 0): ReceivedEpisode {
  const summary = episodeSummary({ id: episodeId(n) });
  return { worker, summary, bytes: n, bootstrapValue: null, attachments: {} };
}

/** An intake over a store that only takes note, and fails while it is told to. */
function setUp() {
  const batches: string[][] = [];
  const seen = { stored: 0, failed: 0, fails: false };
  const appendEpisodes: RunStore['appendEpisodes'] = (batch) => {
    if (seen.fails) throw new Error('the disk is full');
    batches.push(batch.map(({ summary }) => summary.id));
  };
  const intake = new EpisodeIntake(
    { appendEpisodes },
    {
      onStored: (episodes) => {
        seen.stored += episodes.length;
      },
      onFailed: () => {
        seen.failed++;
      },
    },
  );
  return { intake, batches, seen };
}

test('an episode after a quiet time is stored at once, those that follow it together', async () => {
  const { intake, batches, seen } = setUp();
  intake.add(received(1));
  await vi.advanceTimersByTimeAsync(0);
  expect(batches).toEqual([['e1']]);
  for (let n = 2; n <= 5; n++) {
    intake.add(received(n));
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(seen.stored).toBe(1);
  await vi.advanceTimersByTimeAsync(20);
  expect(batches).toEqual([['e1'], ['e2', 'e3', 'e4', 'e5']]);
  intake.add(received(6));
  await vi.advanceTimersByTimeAsync(0);
  expect(batches).toHaveLength(3);
});

test('what cannot be stored counts only once it can, and that of a lost worker not at all', async () => {
  const { intake, batches, seen } = setUp();
  seen.fails = true;
  intake.add(received(1, 0));
  intake.add(received(2, 1));
  await vi.advanceTimersByTimeAsync(20);
  expect(seen).toMatchObject({ stored: 0, failed: 1 });
  intake.drop(1);
  seen.fails = false;
  expect(intake.flush()).toBe(true);
  expect(batches).toEqual([['e1']]);
  expect(seen.stored).toBe(1);
});

test('while many come, more of them are stored together', async () => {
  const { intake, batches } = setUp();
  intake.add(received(1));
  await vi.advanceTimersByTimeAsync(0);
  for (let n = 2; n <= 41; n++) intake.add(received(n));
  await vi.advanceTimersByTimeAsync(12);
  expect(batches).toHaveLength(2);
  intake.add(received(42));
  await vi.advanceTimersByTimeAsync(12);
  expect(batches).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(20);
  expect(batches[2]).toEqual(['e42']);
  intake.add(received(43));
  await vi.advanceTimersByTimeAsync(12);
  expect(batches[3]).toEqual(['e43']);
});
