import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance, type Json } from '@duckdb/node-api';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LabError } from '../../src/domain/error.ts';
import { type ArchiveReport, archiveRun } from '../../src/interop/archive.ts';
import { readArchiveFiles } from '../../src/store/archive-files.ts';
import { compactRun } from '../../src/store/ended-run.ts';
import { parseFilter } from '../../src/store/filter.ts';
import { checkRun } from '../../src/store/fsck.ts';
import { openRunStore } from '../../src/store/index-writer.ts';
import { openRunReader } from '../../src/store/queries.ts';
import { lockRun, type RunPaths, runPaths } from '../../src/store/run-directory.ts';
import { scanFile } from '../../src/store/segment.ts';
import { bodyOf, finished, metricsOf, mixedSummary, temporaryRuns } from '../store/fixture.ts';

const EPISODES = 240;
const runs = temporaryRuns();
const template = runs.run('template');
let paths: RunPaths;
let runNumber = 0;

/** Over three bands of iterations. */
function summary(sequence: number): ReturnType<typeof mixedSummary> {
  return { ...mixedSummary(sequence), iteration: sequence };
}

beforeAll(() => {
  const store = openRunStore(template, { segmentBytes: 40_000 });
  for (let first = 1; first <= EPISODES; first += 20) {
    store.appendEpisodes(
      Array.from({ length: 20 }, (_, index) => finished(summary(first + index), bodyOf(5, first + index))),
    );
    store.appendIteration(metricsOf(first));
  }
  store.close();
});
beforeEach(() => {
  runNumber += 1;
  paths = runPaths(runs.directory, `run-${runNumber}`);
  cpSync(template.root, paths.root, { recursive: true });
});
afterAll(() => runs.remove());

async function archive(): Promise<ArchiveReport> {
  return await archiveRun(paths, {
    run: 'one',
    to: join(paths.root, 'archive'),
    onProgress: () => undefined,
  });
}

function expectAllReadable(): void {
  const reader = openRunReader(paths);
  const { episodes } = reader.episodes(parseFilter('sort:id'), { limit: EPISODES * 2 });
  expect(episodes).toEqual(Array.from({ length: EPISODES }, (_, index) => summary(index + 1)));
  expect(episodes.map(({ id }) => reader.episode(id).body)).toEqual(
    episodes.map((_, index) => bodyOf(5, index + 1)),
  );
  expect(reader.iterations()).toHaveLength(EPISODES / 20);
  reader.close();
}

async function duck(sql: string): Promise<Record<string, Json>[]> {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const rows = (await connection.runAndReadAll(sql)).getRowObjectsJson();
  connection.closeSync();
  return rows;
}

function segmentBytes(): number {
  return readdirSync(paths.segments)
    .filter((name) => name.endsWith('.seg'))
    .reduce((sum, name) => sum + statSync(join(paths.segments, name)).size, 0);
}

/** The bytes of a segment that are no record. */
function damageOf(path: string): Buffer[] {
  const bytes = readFileSync(path);
  return [...scanFile(path)].flatMap(({ type, offset, length }) =>
    type === 'damage' ? [bytes.subarray(offset, offset + length)] : [],
  );
}

/** Episodes whose steps cannot be read because bytes have rotten; any other reason is thrown. */
function unreadable(): string[] {
  const reader = openRunReader(paths);
  try {
    const { episodes } = reader.episodes(parseFilter('sort:id'), { limit: EPISODES * 2 });
    expect(episodes).toHaveLength(EPISODES);
    return episodes
      .map(({ id }) => id)
      .filter((id) => {
        try {
          expect(reader.episode(id).body).toEqual(bodyOf(5, Number(id.slice(1))));
          return false;
        } catch (thrown) {
          if (thrown instanceof LabError && thrown.code === 'segment-corrupt') return true;
          throw thrown;
        }
      });
  } finally {
    reader.close();
  }
}

describe('an archived run', () => {
  it('reads as before, from the files; its segments have shrunk to what is no episode', async () => {
    const before = segmentBytes();
    const report = await archive();
    expect(report).toMatchObject({ episodes: EPISODES, damaged: [] });
    expect(segmentBytes()).toBeLessThan(before / 5);
    expectAllReadable();
    expect(checkRun(paths, { repair: false })).toMatchObject({ episodes: EPISODES, indexProblem: null });
  });

  it('is read by DuckDB, with run and iterations from the names of the directories', async () => {
    await archive();
    const files = join(paths.root, 'archive/**/*.parquet');
    const from = `read_parquet('${files}', hive_partitioning = true)`;
    const bands = await duck(
      `SELECT run, iterations, count(*)::INT AS n FROM ${from} GROUP BY ALL ORDER BY 2`,
    );
    expect(bands).toEqual([
      { run: 'one', iterations: '0000-0099', n: 99 },
      { run: 'one', iterations: '0100-0199', n: 100 },
      { run: 'one', iterations: '0200-0299', n: 41 },
    ]);
    const [totals] = await duck(
      `SELECT sum(steps)::INT AS steps, count(reward)::INT AS rewarded, min(octet_length(record))::INT > 100 AS whole FROM ${from}`,
    );
    const summaries = Array.from({ length: EPISODES }, (_, index) => summary(index + 1));
    expect(totals).toEqual({
      steps: summaries.reduce((sum, { steps }) => sum + steps, 0),
      rewarded: summaries.filter(({ reward }) => reward !== null).length,
      whole: true,
    });
  });

  it('goes on: new episodes are archived next time, beside the old files', async () => {
    const first = await archive();
    const store = openRunStore(paths, { segmentBytes: 40_000 });
    store.appendEpisodes([finished(summary(EPISODES + 1), bodyOf(5, EPISODES + 1))]);
    store.close();
    const second = await archive();
    expect(second.episodes).toBe(1);
    expect(first.files).not.toContain(second.files[0]);
    const reader = openRunReader(paths);
    expect(reader.episode(`e${EPISODES + 1}`).body).toEqual(bodyOf(5, EPISODES + 1));
    reader.close();
    expect((await archive()).episodes).toBe(0);
  });

  it('keeps its index when that is made anew, and refuses to where a file is missing', async () => {
    const report = await archive();
    rmSync(paths.database);
    openRunStore(paths).close();
    expectAllReadable();
    const [file = ''] = report.files;
    cpSync(file, `${file}.away`);
    rmSync(file);
    const reader = openRunReader(paths);
    expect(() => reader.episode('e1')).toThrow(expect.objectContaining({ code: 'segment-corrupt' }));
    reader.close();
    rmSync(paths.database);
    expect(() => openRunStore(paths)).toThrow(
      expect.objectContaining({ code: 'store-failed', message: expect.stringContaining(file) }),
    );
    cpSync(`${file}.away`, file);
    openRunStore(paths).close();
    expectAllReadable();
  });

  it('that was compacted keeps what it has', async () => {
    await compactRun(paths, {
      keepSample: 0,
      pinned: () => new Set(),
      breathe: async () => await Promise.resolve(true),
    });
    const reader = openRunReader(paths);
    const kept = reader.episodes(parseFilter('fail:any'), { limit: EPISODES }).episodes;
    reader.close();
    await archive();
    const after = openRunReader(paths);
    for (const { id } of kept) expect(after.episode(id).body.steps).toHaveLength(5);
    after.close();
    expect(checkRun(paths, { repair: false })).toMatchObject({ episodes: EPISODES, indexProblem: null });
  });
});

describe('nothing is lost', () => {
  it('when a crash comes between listing a file and moving to it: it is made again', async () => {
    const before = runPaths(runs.directory, `before-${runNumber}`);
    cpSync(paths.root, before.root, { recursive: true });
    const report = await archive();
    // The files and their list are there, but segments and index are those from before.
    for (const name of readdirSync(before.segments))
      cpSync(join(before.segments, name), join(paths.segments, name));
    for (const suffix of ['', '-wal', '-shm']) rmSync(paths.database + suffix, { force: true });
    cpSync(before.database, paths.database);
    expectAllReadable();
    const again = await archive();
    expect(again.episodes).toBe(EPISODES);
    expect(readArchiveFiles(paths.segments)).toHaveLength(report.files.length);
    expectAllReadable();
  });

  it('when a byte has rotten: all that can be read moves, what cannot stays, and is told as before', async () => {
    const path = join(paths.segments, '000001.seg');
    const bytes = readFileSync(path);
    const at = Math.floor(bytes.byteLength / 2);
    bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    writeFileSync(path, bytes);
    const rotten = damageOf(path);
    expect(rotten).toHaveLength(1);
    const lost = unreadable();
    expect(lost.length).toBeGreaterThan(0);
    const report = await archive();
    expect(report).toMatchObject({ damaged: [1], episodes: EPISODES - lost.length });
    expect(damageOf(path)).toEqual(rotten);
    expect(statSync(path).size).toBeLessThan(bytes.byteLength / 2);
    expect(unreadable()).toEqual(lost);
    const reader = openRunReader(paths);
    expect(reader.iterations()).toHaveLength(EPISODES / 20);
    reader.close();
    // Another time there is nothing left to move, and nothing is lost.
    expect(await archive()).toMatchObject({ damaged: [1], episodes: 0 });
    expect(damageOf(path)).toEqual(rotten);
  });

  it('while the run is live: it is refused', async () => {
    const lock = lockRun(paths);
    await expect(archive()).rejects.toMatchObject({ code: 'run-locked' });
    lock.release();
  });
});
