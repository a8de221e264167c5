import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseFilter } from '../../src/store/filter.ts';
import { checkRun } from '../../src/store/fsck.ts';
import { openRunStore } from '../../src/store/index-writer.ts';
import { openRunReader } from '../../src/store/queries.ts';
import { isRunLive, lockRun, type RunPaths } from '../../src/store/run-directory.ts';
import { finished, metricsOf, mixedSummary, type TemporaryRuns, temporaryRuns } from './fixture.ts';

let runs: TemporaryRuns;
let paths: RunPaths;
beforeEach(() => {
  runs = temporaryRuns();
  paths = runs.run();
  const store = openRunStore(paths, { segmentBytes: 4000 });
  for (let sequence = 1; sequence <= 20; sequence++) store.appendEpisodes([finished(mixedSummary(sequence))]);
  store.appendIteration(metricsOf(1));
  store.close();
});
afterEach(() => runs.remove());

function count(): number {
  const reader = openRunReader(paths);
  const episodes = reader.countEpisodes(parseFilter(''));
  expect(reader.iterations()).toHaveLength(1);
  reader.close();
  return episodes;
}

it('a sound run is left alone', () => {
  const before = readFileSync(paths.database);
  const report = checkRun(paths, { repair: true });
  expect(report).toMatchObject({ episodes: 20, indexProblem: null, rebuilt: false });
  expect(report.segments.length).toBeGreaterThan(2);
  expect(report.segments.every(({ damage }) => damage.length === 0)).toBe(true);
  expect(report.segments.reduce((sum, { records }) => sum + records, 0)).toBe(21);
  expect(readFileSync(paths.database).equals(before)).toBe(true);
  expect(isRunLive(paths)).toBe(false);
});

it.each<[string, RegExp, () => void]>([
  ['missing', /^it is missing$/u, () => rmSync(paths.database)],
  ['cut short', /^it (cannot be|is damaged)/u, () => truncateSync(paths.database, 12_000)],
  ['no database', /^it cannot be opened/u, () => writeFileSync(paths.database, 'nonsense '.repeat(999))],
  [
    'short of a row',
    /^it lacks e5 that the segments hold$/u,
    () => {
      const database = new Database(paths.database);
      database.exec('DELETE FROM episodes WHERE sequence = 5');
      database.close();
    },
  ],
])('an index that is %s is reported, and rebuilt only on demand', (_, problem, damage) => {
  damage();
  const report = checkRun(paths, { repair: false });
  expect(report).toMatchObject({ episodes: 20, rebuilt: false });
  expect(report.indexProblem).toMatch(problem);
  expect(checkRun(paths, { repair: true })).toMatchObject({ rebuilt: true });
  expect(count()).toBe(20);
  expect(checkRun(paths, { repair: false }).indexProblem).toBeNull();
  expect(existsSync(`${paths.database}.rebuilt`)).toBe(false);
});

it('says where a segment is damaged, and rebuilds the rest', () => {
  const file = join(paths.segments, '000001.seg');
  const bytes = readFileSync(file);
  bytes[Math.floor(bytes.byteLength / 2)]! ^= 1;
  writeFileSync(file, bytes);
  const report = checkRun(paths, { repair: true });
  expect(report).toMatchObject({ episodes: 19, rebuilt: true });
  expect(report.indexProblem).toMatch(/^it has e\d that the segments do not hold$/u);
  const [damage, ...more] = report.segments[0]?.damage ?? [];
  expect(more).toEqual([]);
  expect(damage?.offset).toBeLessThan(bytes.byteLength / 2);
  expect(count()).toBe(19);
  expect(readFileSync(file).equals(bytes)).toBe(true);
});

it('names the first of the episodes in which index and segments differ', () => {
  const database = new Database(paths.database);
  database.exec(
    'DELETE FROM episodes WHERE sequence < 8; UPDATE episodes SET sequence = 99 WHERE sequence = 20',
  );
  database.close();
  expect(checkRun(paths, { repair: false }).indexProblem).toBe(
    'it lacks 8 episodes (e1, e2, e3, e4, e5, …) that the segments hold, and it has e99 that the segments do not hold',
  );
});

it('refuses a live run, and an index of a newer lab', () => {
  const lock = lockRun(paths);
  expect(() => checkRun(paths, { repair: true })).toThrow(expect.objectContaining({ code: 'run-locked' }));
  lock.release();
  const database = new Database(paths.database);
  database.pragma('user_version = 99');
  database.close();
  expect(() => checkRun(paths, { repair: true })).toThrow(expect.objectContaining({ code: 'run-too-new' }));
});
