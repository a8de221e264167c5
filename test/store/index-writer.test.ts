import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { FAILURE_TYPES } from '../../src/domain/failure.ts';
import { parseFilter } from '../../src/store/filter.ts';
import { checkRun } from '../../src/store/fsck.ts';
import { type FinishedEpisode, openRunStore } from '../../src/store/index-writer.ts';
import { openRunReader } from '../../src/store/queries.ts';
import type { RunPaths } from '../../src/store/run-directory.ts';
import { encodeRecord, partsIn, scanSegment, segmentName, segmentNumbers } from '../../src/store/segment.ts';
import {
  bodyOf,
  finished,
  metricsOf,
  mixedSummary,
  summaryOf,
  type TemporaryRuns,
  temporaryRuns,
} from './fixture.ts';

let runs: TemporaryRuns;
let paths: RunPaths;
beforeEach(() => {
  runs = temporaryRuns();
  paths = runs.run();
});
afterEach(() => runs.remove());

const NOTHING_TO_REPAIR = { reindexed: 0, dropped: 0, torn: 0, tornBytes: 0, damaged: 0 };

function segment(number = 1): string {
  return join(paths.segments, segmentName(number));
}

function store(first: number, last: number, segmentBytes?: number): void {
  const opened = openRunStore(paths, segmentBytes === undefined ? {} : { segmentBytes });
  for (let sequence = first; sequence <= last; sequence++) {
    opened.appendEpisodes([finished(mixedSummary(sequence), bodyOf(3, sequence))]);
  }
  opened.close();
}

function storedIds(): string[] {
  const reader = openRunReader(paths);
  const page = reader.episodes(parseFilter('sort:id'), { limit: 100_000 });
  // Every indexed episode must be readable.
  for (const { id } of page.episodes) reader.episode(id);
  reader.close();
  return page.episodes.map(({ id }) => id);
}

function ids(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, index) => `e${first + index}`);
}

function batch(first: number, last: number): FinishedEpisode[] {
  return Array.from({ length: last - first + 1 }, (_, index) =>
    finished(summaryOf(first + index), bodyOf(3, first + index)),
  );
}

describe('append', () => {
  it('keeps every field of an episode and its body', () => {
    const summary = summaryOf(12, {
      success: false,
      failure: 'max_steps',
      failureDetail: 'step limit 30 – “zeichen” \u001b[31m',
      terminated: false,
      truncated: true,
      reward: -0.1 + 1e-17,
      components: { 'odd name': 0.1, __proto: -2 },
      behaviours: ['loop', 'invalid_actions'],
    });
    const opened = openRunStore(paths);
    opened.appendEpisodes([finished(summary, bodyOf(30))]);
    opened.close();
    const reader = openRunReader(paths);
    expect(reader.episode('e12')).toEqual({ summary, body: bodyOf(30) });
    reader.close();
  });

  it.each([1, 3])('writes summaries that came as JSON as they came, of %i in a record', (count) => {
    const given = batch(1, count).map((episode) => ({
      ...episode,
      json: Buffer.from(` ${JSON.stringify(episode.summary)}`),
    }));
    const opened = openRunStore(paths);
    opened.appendEpisodes(given);
    opened.close();
    const bytes = readFileSync(segment());
    // Those of several are deflated together.
    expect(bytes.includes(given[0]?.json ?? '?')).toBe(count === 1);
    expect(partsIn(bytes).map(({ header }) => header)).toEqual(given.map(({ summary }) => summary));
    rmSync(paths.database);
    openRunStore(paths).close();
    expect(storedIds()).toEqual(ids(1, count));
  });

  it('ignores an episode that is stored already, in the same batch and later, and does not count it', () => {
    const opened = openRunStore(paths);
    opened.appendEpisodes([finished(summaryOf(1, { steps: 7 })), finished(summaryOf(1, { steps: 9 }))]);
    const size = statSync(segment()).size;
    opened.appendEpisodes([finished(summaryOf(1, { steps: 11 }))]);
    expect(opened.totals()).toMatchObject({ episodes: 1, envSteps: 7 });
    expect(statSync(segment()).size).toBe(size);
    opened.close();
    expect(storedIds()).toEqual(['e1']);
  });

  it('of a batch that is stored already in part, writes the rest, which is found', () => {
    const opened = openRunStore(paths);
    opened.appendEpisodes(batch(4, 6));
    opened.appendEpisodes(batch(1, 9));
    const size = statSync(segment()).size;
    opened.appendEpisodes(batch(2, 8));
    expect(statSync(segment()).size).toBe(size);
    opened.appendEpisodes(batch(8, 90));
    opened.close();
    expect(storedIds()).toEqual(ids(1, 90));
    const reader = openRunReader(paths);
    for (const n of [1, 5, 9, 10, 90]) expect(reader.episode(`e${n}`).body).toEqual(bodyOf(3, n));
    reader.close();
    expect(checkRun(paths, { repair: false, text: false })).toMatchObject({
      episodes: 90,
      indexProblem: null,
    });
    rmSync(paths.database);
    const again = openRunStore(paths);
    expect(again.repair).toEqual({ ...NOTHING_TO_REPAIR, reindexed: 90 });
    again.close();
    expect(storedIds()).toEqual(ids(1, 90));
  });

  it('counts training episodes, and remembers the totals over a reopening', () => {
    const opened = openRunStore(paths);
    opened.appendEpisodes([
      finished(summaryOf(1, { steps: 10 })),
      finished(summaryOf(3, { steps: 5, success: false, failure: 'env_crash', trust: 'void', reward: null })),
      finished(summaryOf(9, { steps: 100, phase: 'eval' })),
    ]);
    opened.appendIteration(metricsOf(4));
    opened.appendIteration(metricsOf(2, { attempt: 2 }));
    const totals = { episodes: 2, envSteps: 15, voidEpisodes: 1, lastSequence: 9, lastIteration: 4 };
    expect(opened.totals()).toEqual(totals);
    opened.close();
    opened.close();
    const again = openRunStore(paths);
    expect(again.totals()).toEqual(totals);
    expect(again.repair).toEqual(NOTHING_TO_REPAIR);
    again.close();
  });

  it('starts with nothing', () => {
    const opened = openRunStore(paths);
    const none = { episodes: 0, envSteps: 0, voidEpisodes: 0, lastSequence: 0, lastIteration: 0 };
    expect(opened.totals()).toEqual(none);
    opened.appendEpisodes([]);
    opened.sync();
    opened.close();
  });

  it('begins a new segment when the present one is full, and goes on in the newest', () => {
    store(1, 30, 4000);
    store(31, 40, 4000);
    const numbers = segmentNumbers(paths.segments);
    expect(numbers.length).toBeGreaterThan(3);
    for (const number of numbers) expect(statSync(segment(number)).size).toBeLessThanOrEqual(4000);
    expect(storedIds()).toEqual(ids(1, 40));
  });
});

describe('rules of the index', () => {
  it.each<[string, Partial<EpisodeSummary>]>([
    ['one_failure_type_unless_success', { success: false }],
    ['one_failure_type_unless_success', { success: true, failure: 'gave_up' }],
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the types forbid, the index must too
    ['known_failure_type', { success: false, failure: 'bad_luck' as 'gave_up' }],
    ['void_has_no_reward', { success: false, failure: 'tool_error', trust: 'void', reward: 0 }],
    ['infrastructure_failure_is_void', { success: false, failure: 'env_crash', trust: 'valid' }],
  ])('refuse what breaks %s, and nothing of the batch is kept', (rule, changes) => {
    const opened = openRunStore(paths);
    opened.appendEpisodes([finished(summaryOf(1))]);
    const size = statSync(segment()).size;
    const wrong = { ...summaryOf(3), ...changes };
    expect(() => opened.appendEpisodes([finished(summaryOf(2)), finished(wrong)])).toThrow(
      expect.objectContaining({ code: 'store-failed', message: expect.stringContaining(rule) }),
    );
    expect(statSync(segment()).size).toBe(size);
    expect(opened.totals().episodes).toBe(1);
    opened.appendEpisodes([finished(summaryOf(4))]);
    opened.close();
    expect(storedIds()).toEqual(['e1', 'e4']);
  });

  it('know every failure type', () => {
    store(1, FAILURE_TYPES.length + 1);
    const reader = openRunReader(paths);
    const counts = reader.failureCounts(parseFilter(''));
    reader.close();
    expect(Object.keys(counts).toSorted()).toEqual([...FAILURE_TYPES, 'success'].toSorted());
  });

  it('refuse metrics with a NaN, naming the field', () => {
    const opened = openRunStore(paths);
    expect(() => opened.appendIteration(metricsOf(1, { explainedVariance: Number.NaN }))).toThrow(
      expect.objectContaining({
        code: 'store-failed',
        message: expect.stringContaining('explainedVariance'),
      }),
    );
    expect(opened.totals().lastIteration).toBe(0);
    opened.close();
  });
});

describe('after a crash', () => {
  it('a process killed at any moment has lost nothing it acknowledged', async () => {
    for (const batches of [1, 4, 9]) {
      const child = spawn('node', ['--import', 'tsx', 'test/store/store-writer.ts', runs.directory, 'run'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let said = '';
      child.stdout.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        if (said.split('\n').length > batches) child.kill('SIGKILL');
      });
      await once(child, 'close');
      const [sequence = 0, iteration = 0] = (said.trim().split('\n').at(-1) ?? '').split(' ').map(Number);
      const opened = openRunStore(paths);
      expect(opened.totals().lastSequence).toBeGreaterThanOrEqual(sequence);
      expect(opened.totals().lastIteration).toBeGreaterThanOrEqual(iteration);
      expect(opened.repair.damaged).toBe(0);
      const { lastSequence } = opened.totals();
      opened.close();
      expect(storedIds()).toEqual(ids(1, lastSequence));
    }
  });

  it('a torn last record is cut off and counted, and the next one takes its place', () => {
    store(1, 5);
    const whole = readFileSync(segment());
    store(6, 6);
    const torn = readFileSync(segment()).subarray(0, -3);
    rmSync(paths.database);
    writeFileSync(segment(), torn);
    const opened = openRunStore(paths);
    expect(opened.repair).toEqual({
      ...NOTHING_TO_REPAIR,
      reindexed: 5,
      torn: 1,
      tornBytes: torn.byteLength - whole.byteLength,
    });
    expect(statSync(segment()).size).toBe(whole.byteLength);
    opened.appendEpisodes([finished(mixedSummary(6))]);
    opened.close();
    expect(storedIds()).toEqual(ids(1, 6));
  });

  it('records that reached the segment and not the index are indexed', () => {
    store(1, 3);
    const indexed = readFileSync(paths.database);
    store(4, 8);
    writeFileSync(paths.database, indexed);
    const opened = openRunStore(paths);
    expect(opened.repair).toEqual({ ...NOTHING_TO_REPAIR, reindexed: 5 });
    expect(opened.totals().lastSequence).toBe(8);
    opened.close();
    expect(storedIds()).toEqual(ids(1, 8));
  });

  it('rows whose bytes never reached the disk are dropped, whole ones before them stay', () => {
    store(1, 8);
    const size = statSync(segment()).size;
    truncateSync(segment(), Math.floor(size / 2));
    const opened = openRunStore(paths);
    const { dropped, torn } = opened.repair;
    expect(dropped).toBeGreaterThan(2);
    expect(torn).toBe(1);
    opened.appendEpisodes([finished(mixedSummary(8))]);
    opened.close();
    expect(storedIds()).toEqual([...ids(1, 8 - dropped), 'e8']);
  });

  it('a segment that is gone takes its rows with it', () => {
    store(1, 30, 4000);
    const before = storedIds().length;
    rmSync(segment(1));
    const opened = openRunStore(paths);
    expect(opened.repair.dropped).toBeGreaterThan(1);
    const { dropped } = opened.repair;
    opened.close();
    expect(storedIds()).toHaveLength(before - dropped);
  });
});

describe('a damaged run', () => {
  it('a deleted index comes back whole, metrics, events and knobs too', () => {
    store(1, 20, 4000);
    const opened = openRunStore(paths);
    opened.appendIteration(metricsOf(1));
    opened.appendEvaluation({
      iteration: 1,
      policyVersion: 1,
      mode: 'greedy',
      episodes: 9,
      success: 0.5,
      byFamily: {},
    });
    opened.appendEvent({
      time: 1,
      level: 'warning',
      kind: 'worker-died',
      subject: 'worker 1@local',
      message: 'gone',
      episodes: ['e3', 'e1'],
    });
    opened.appendKnobChange({
      time: 2,
      who: 'me@here',
      knob: 'clip',
      from: 0.2,
      to: 0.1,
      iteration: 1,
      minibatch: 3,
      undo: true,
    });
    opened.close();
    const everything = (): unknown => {
      const reader = openRunReader(paths);
      try {
        return [
          reader.iterations(),
          reader.evaluations(),
          reader.events(10),
          reader.knobChanges(),
          reader.episodes(parseFilter(''), { limit: 100 }),
        ];
      } finally {
        reader.close();
      }
    };
    const before = everything();
    rmSync(paths.database);
    openRunStore(paths).close();
    expect(everything()).toEqual(before);
  });

  it('a truncated index is set aside and made anew', () => {
    store(1, 200);
    truncateSync(paths.database, 20_000);
    const opened = openRunStore(paths);
    expect(opened.repair).toEqual({ ...NOTHING_TO_REPAIR, reindexed: 200 });
    opened.close();
    expect(statSync(`${paths.database}.damaged`).size).toBe(20_000);
    expect(storedIds()).toEqual(ids(1, 200));
  });

  it('an index that is no database is set aside and made anew', () => {
    store(1, 3);
    writeFileSync(paths.database, 'x'.repeat(5000));
    openRunStore(paths).close();
    expect(existsSync(`${paths.database}.damaged`)).toBe(true);
    expect(storedIds()).toEqual(ids(1, 3));
  });

  it('a flipped byte costs one episode, and is counted', () => {
    store(1, 9);
    const bytes = readFileSync(segment());
    bytes[Math.floor(bytes.byteLength / 2)]! ^= 1;
    writeFileSync(segment(), bytes);
    rmSync(paths.database);
    const opened = openRunStore(paths);
    expect(opened.repair).toEqual({ ...NOTHING_TO_REPAIR, reindexed: 8, damaged: 1 });
    opened.close();
    expect(storedIds()).toHaveLength(8);
  });

  it('of episodes stored together a flipped byte costs those of their record, and no others', () => {
    const opened = openRunStore(paths);
    opened.appendEpisodes(batch(1, 100));
    opened.close();
    const bytes = readFileSync(segment());
    const records = [...scanSegment(paths.segments, 1)];
    expect(records.length).toBeGreaterThan(3);
    expect(records.length).toBeLessThan(50);
    const hit = records.find(({ offset, length }) => offset + length > bytes.byteLength / 2)!;
    const lost = partsIn(bytes.subarray(hit.offset, hit.offset + hit.length)).length;
    bytes[Math.floor(bytes.byteLength / 2)]! ^= 1;
    writeFileSync(segment(), bytes);
    rmSync(paths.database);
    const again = openRunStore(paths);
    expect(again.repair).toEqual({ ...NOTHING_TO_REPAIR, reindexed: 100 - lost, damaged: 1 });
    again.close();
    expect(storedIds()).toHaveLength(100 - lost);
  });

  it('a record of a shape that is not agreed is passed over', () => {
    store(1, 2);
    appendFileSync(segment(), Buffer.concat(encodeRecord('event', { odd: true }).chunks));
    appendFileSync(
      segment(),
      Buffer.concat(encodeRecord('episode', { ...summaryOf(3), success: false }, Buffer.from('{}')).chunks),
    );
    store(4, 4);
    expect(storedIds()).toEqual(['e1', 'e2', 'e4']);
  });

  it('a newer schema is refused, and left as it is', () => {
    store(1, 1);
    const database = new Database(paths.database);
    database.pragma('user_version = 99');
    database.close();
    const tooNew = expect.objectContaining({
      code: 'run-too-new',
      message: expect.stringContaining('schema 99'),
    });
    expect(() => openRunStore(paths)).toThrow(tooNew);
    expect(() => openRunReader(paths)).toThrow(tooNew);
    expect(existsSync(`${paths.database}.damaged`)).toBe(false);
  });

  it('a missing run directory is said to be so', () => {
    rmSync(paths.root, { recursive: true });
    expect(() => openRunStore(paths)).toThrow(expect.objectContaining({ code: 'run-unwritable' }));
    expect(() => openRunReader(paths)).toThrow(expect.objectContaining({ code: 'store-failed' }));
  });
});
