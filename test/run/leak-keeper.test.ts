import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { episodeId } from '../../src/domain/id.ts';
import type { ResetDifference } from '../../src/domain/leak.ts';
import type { RunEvent } from '../../src/domain/run.ts';
import { LeakKeeper } from '../../src/run/leak-keeper.ts';
import { openRunStore, type RunStore } from '../../src/store/index-writer.ts';
import type { RunPaths } from '../../src/store/run-directory.ts';
import { manifestOf, summaryOf, type TemporaryRuns, temporaryRuns } from '../store/fixture.ts';

let runs: TemporaryRuns;
let paths: RunPaths;
let store: RunStore;
beforeEach(() => {
  runs = temporaryRuns();
  paths = runs.run();
  store = openRunStore(paths);
});
afterEach(() => {
  store.close();
  runs.remove();
});

/** A keeper of an attempt; its events are stored, and what it had quarantined is noted. */
function keeperOf(attempt: number) {
  const quarantined: string[] = [];
  const events: RunEvent[] = [];
  const keeper = new LeakKeeper({
    paths,
    journal: {
      manifest: { ...manifestOf('run'), attempt },
      event: (level, kind, subject, message, ...[episodes]) => {
        events.push({ time: 1000 * attempt, level, kind, subject, message, episodes: [...(episodes ?? [])] });
        store.appendEvent(events.at(-1)!);
      },
    },
    workers: { name: (worker) => `worker ${worker}@local`, quarantine: (family) => quarantined.push(family) },
  });
  return { keeper, quarantined, events };
}

function difference(family: string): ResetDifference {
  return {
    family,
    episode: episodeId(77),
    slot: 5,
    part: 'state',
    line: 3,
    recycled: { sha256: 'aa', line: ' "cart": 1', text: '{\n "cart": 1' },
    fresh: { sha256: 'bb', line: null, text: '{' },
  };
}

/** Stores episodes of a family, the first of them in new slots. */
function storeEpisodes(
  keeper: LeakKeeper | null,
  family: string,
  from: number,
  count: number,
  fresh: number,
): void {
  for (let n = 0; n < count; n++) {
    const base = summaryOf(from + n);
    const summary = { ...base, task: { ...base.task, family } };
    store.appendEpisodes([{ summary, body: Buffer.from('{}') }]);
    keeper?.stored({ summary, bytes: 0, bootstrapValue: null, attachments: {}, recycled: n >= fresh });
  }
}

it('tells a leak once, with both texts and how many episodes it may have spoiled, and has the family quarantined', () => {
  const { keeper, quarantined, events } = keeperOf(1);
  storeEpisodes(keeper, 'buy', 1, 20, 4);
  storeEpisodes(keeper, 'sell', 101, 9, 9);
  keeper.hear(0, { type: 'leak', difference: difference('buy') });
  keeper.hear(1, { type: 'leak', difference: difference('buy') });
  expect(quarantined).toEqual(['buy']);
  const summary =
    'resets of family buy leave traces of earlier episodes: in e77 (worker 0@local, slot 5) the state behind the first ' +
    'observation differs in line 3: `"cart": 1` in the used slot, nothing in a new one; 16 of its episodes were ' +
    'sampled in used slots, from now on each gets a new one';
  const text = [summary, 'used slot, sha256 aa:', '{', ' "cart": 1', 'new slot, sha256 bb:', '{'].join('\n');
  expect(events).toMatchObject([
    { level: 'error', kind: 'reset-leak', subject: 'buy', message: text, episodes: ['e77'] },
  ]);
  expect(keeper.status().leaks).toMatchObject([{ family: 'buy', episode: 'e77', message: summary }]);
});

it('knows in the next attempt what the ones before have found, and counts no better than it can', () => {
  const first = keeperOf(1);
  storeEpisodes(first.keeper, 'buy', 1, 20, 4);
  storeEpisodes(first.keeper, 'sell', 101, 10, 4);
  first.keeper.hear(0, { type: 'leak', difference: difference('buy') });
  const { keeper, quarantined, events } = keeperOf(2);
  expect(quarantined).toEqual(['buy']);
  const [known] = first.keeper.status().leaks;
  expect(keeper.status().leaks).toEqual([{ ...known, time: 1000 }]);
  keeper.hear(1, { type: 'leak', difference: difference('buy') });
  storeEpisodes(keeper, 'sell', 201, 6, 1);
  keeper.hear(1, { type: 'leak', difference: difference('sell') });
  expect(events.map(({ subject }) => subject)).toEqual(['sell']);
  expect(events[0]!.message).toContain('; at most 15 of its episodes were sampled in used slots');
  expect(quarantined).toEqual(['buy', 'sell']);
});

it('tells a leak although nobody can count', () => {
  const { keeper, quarantined, events } = keeperOf(1);
  for (const suffix of ['', '-wal', '-shm']) rmSync(paths.database + suffix, { force: true });
  keeper.hear(0, { type: 'leak', difference: difference('buy') });
  expect(quarantined).toEqual(['buy']);
  expect(events[0]!.message).toContain('an unknown number of its episodes');
});

it('sums up audits, and warns of one without a result', () => {
  const { keeper, events } = keeperOf(1);
  const report = {
    wallMs: 500,
    waitMs: 0,
    gatherMs: 0,
    lateMs: 0,
    freeMs: 0,
    windowMs: 0,
    steps: 1,
    inferenceCalls: 1,
    encodeMs: 0,
    inferenceMs: 0,
    stepMs: 0,
    recordMs: 0,
    idleMs: 0,
    busySlots: 1,
    rssMiB: 1,
  };
  keeper.hear(0, { type: 'report', report: { ...report, audits: 3 } });
  keeper.hear(1, { type: 'report', report });
  keeper.hear(1, { type: 'report', report: { ...report, audits: 4 } });
  expect(keeper.status()).toEqual({ audits: 7, leaks: [] });
  keeper.hear(1, { type: 'audit_failed', family: 'buy', reason: 'no licence' });
  expect(events).toMatchObject([
    {
      level: 'warning',
      kind: 'reset-audit-failed',
      subject: 'worker 1@local',
      message: 'resets of family buy cannot be audited: no licence',
    },
  ]);
});
