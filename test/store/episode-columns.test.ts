import Database from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { filterToSql, orderToSql, SQLITE } from '../../bench/peers/filter-sql.ts';
import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { createRandom } from '../../src/domain/random.ts';
import { openDatabaseReadOnly } from '../../src/store/database.ts';
import { EpisodeFinder } from '../../src/store/episode-finder.ts';
import { EPISODE_COLUMNS } from '../../src/store/episode-row.ts';
import { parseFilter } from '../../src/store/filter.ts';
import { checkRun } from '../../src/store/fsck.ts';
import { openRunStore, type RunStore } from '../../src/store/index-writer.ts';
import { openRunReader, type RunReader } from '../../src/store/queries.ts';
import type { RunPaths } from '../../src/store/run-directory.ts';
import { mixedSummary, type TemporaryRuns, temporaryRuns } from './fixture.ts';

const BODY = Buffer.from('{"lines":[],"candidateSets":[],"steps":[],"finalObservation":[]}');
const QUESTIONS = [
  '',
  'fail:gave_up',
  'fail:none steps>20 sort:-steps',
  'is:void',
  'reward:10..300 sort:reward',
  'behaviour:loop -is:eval',
  'host:local iter:5..900 sort:iter',
  '"detail of max" or part.goal>0 sort:-id',
];

let runs: TemporaryRuns;
beforeAll(() => {
  runs = temporaryRuns();
});
afterAll(() => runs.remove());

function append(store: RunStore, summaries: readonly EpisodeSummary[]): void {
  for (let start = 0; start < summaries.length; start += 500) {
    store.appendEpisodes(summaries.slice(start, start + 500).map((summary) => ({ summary, body: BODY })));
  }
}

/** Episodes of these numbers, in an order as they might end. */
function shuffled(from: number, to: number): EpisodeSummary[] {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  return createRandom(from).shuffle(numbers).map(mixedSummary);
}

const PAGE = 40;
const PAGES = 3;

/** Every question's count and first pages, by the reader and by a scan of the table. */
function expectAnswers(reader: RunReader, paths: RunPaths): void {
  const database = new Database(paths.database, { readonly: true });
  for (const question of QUESTIONS) {
    const filter = parseFilter(question);
    const { sql, parameters } = filterToSql(filter.where, { dialect: SQLITE, now: 0 });
    const wanted = database
      .prepare<unknown[], number>(
        `SELECT sequence FROM episodes WHERE ${sql} ORDER BY ${orderToSql(filter.sort, SQLITE)}`,
      )
      .pluck()
      .all(...parameters);
    const found: string[] = [];
    let after: string | null = null;
    for (let page = 0; page < PAGES; page += 1) {
      const { episodes, next } = reader.episodes(filter, { limit: PAGE, after });
      found.push(...episodes.map(({ id }) => id));
      after = next;
      if (next === null) break;
    }
    expect(found, `filter ${question}`).toEqual(
      wanted.slice(0, PAGE * PAGES).map((sequence) => `e${sequence}`),
    );
    expect(reader.countEpisodes(filter), `filter ${question}`).toBe(wanted.length);
    const outcomes = database
      .prepare<unknown[], [string, number]>(
        `SELECT coalesce(failure, 'success'), count(*) FROM episodes WHERE ${sql} GROUP BY failure`,
      )
      .raw()
      .all(...parameters);
    // Twice: what was counted of a block is kept.
    for (const _ of [1, 2])
      expect(reader.failureCounts(filter), `filter ${question}`).toEqual(Object.fromEntries(outcomes));
  }
  database.close();
}

function tableRows(paths: RunPaths, sql: string): unknown {
  const database = new Database(paths.database);
  const value = database.prepare(sql).pluck().get();
  database.close();
  return value;
}

function change(paths: RunPaths, sql: string): void {
  const database = new Database(paths.database);
  database.exec(sql);
  database.close();
}

describe('a run of more than a block', () => {
  const blockRows = 300;

  it('is answered the same from blocks and tail, by readers that follow it, over reopenings of the writer', () => {
    const paths = runs.run('long');
    const store = openRunStore(paths, { blockRows });
    append(store, shuffled(1, 270));
    const reader = openRunReader(paths);
    expectAnswers(reader, paths);
    append(store, shuffled(271, 290));
    expectAnswers(reader, paths);
    // A batch that fills the block and is then refused leaves neither row nor block.
    const bad = { ...mixedSummary(500), success: true, failure: 'gave_up' as const };
    expect(() => append(store, [...shuffled(291, 400), bad])).toThrow(
      expect.objectContaining({ code: 'store-failed' }),
    );
    expect(tableRows(paths, 'SELECT count(*) FROM episode_blocks')).toBe(0);
    expectAnswers(reader, paths);
    append(store, shuffled(291, 1000));
    expect(tableRows(paths, 'SELECT count(*) FROM episode_blocks')).toBe(3);
    expect(tableRows(paths, 'SELECT max(arrival) FROM episodes')).toBe(999);
    expectAnswers(reader, paths);
    store.close();
    const reopened = openRunStore(paths, { blockRows });
    append(reopened, shuffled(1001, 1350));
    expectAnswers(reader, paths);
    reopened.close();
    reader.close();
    expect(checkRun(paths, { repair: false }).indexProblem).toBeNull();
    const fresh = openRunReader(paths);
    expectAnswers(fresh, paths);
    fresh.close();
  });

  it('is answered the same when it was followed between the questions, and when it was not', () => {
    const paths = runs.run('followed');
    const store = openRunStore(paths, { blockRows });
    append(store, shuffled(1, 20));
    const database = openDatabaseReadOnly(paths.database);
    const finder = new EpisodeFinder(database, () => 0);
    for (const to of [280, 290, 600, 601, 1200]) {
      append(store, shuffled(to === 280 ? 21 : finder.count(parseFilter('').where) + 1, to));
      if (to !== 600) finder.follow();
      expect(finder.search(parseFilter('fail:none,gave_up sort:steps'), { limit: 30 })).toEqual(
        new EpisodeFinder(database, () => 0).search(parseFilter('fail:none,gave_up sort:steps'), {
          limit: 30,
        }),
      );
      expect(finder.count(parseFilter('').where)).toBe(to);
    }
    database.close();
    store.close();
  });

  it('with a block that is gone is answered from the rows', () => {
    const paths = runs.run('gap');
    const store = openRunStore(paths, { blockRows });
    append(store, shuffled(1, 700));
    store.close();
    change(paths, 'DELETE FROM episode_blocks WHERE start = 0');
    const reader = openRunReader(paths);
    expectAnswers(reader, paths);
    reader.close();
    expect(checkRun(paths, { repair: false }).indexProblem).toMatch(/gap at row 0/u);
  });
});

describe('an index whose columns are not right', () => {
  let paths: RunPaths;
  let count = 0;
  beforeEach(() => {
    count += 1;
    paths = runs.run(`broken-${count}`);
    const store = openRunStore(paths, { blockRows: 12 });
    append(store, shuffled(1, 40));
    store.close();
  });
  let reader: RunReader | null = null;
  afterEach(() => reader?.close());

  it.each<[string, string, RegExp]>([
    ['lack the middle', 'DELETE FROM episode_blocks WHERE start = 12', /columns have a gap at row 12/u],
    [
      'are damaged',
      "UPDATE episode_blocks SET data = x'0102030405060708090a' WHERE start = 0",
      /columns are damaged from row 0 on/u,
    ],
    [
      'are of rows that are numbered otherwise',
      'UPDATE episodes SET arrival = arrival + 100 WHERE arrival > 37',
      /40 rows are numbered up to 140/u,
    ],
  ])('that %s: readers answer from the rows, fsck says so and mends it', (_, sql, problem) => {
    change(paths, sql);
    reader = openRunReader(paths);
    expectAnswers(reader, paths);
    expect(checkRun(paths, { repair: false }).indexProblem).toMatch(problem);
    expect(checkRun(paths, { repair: true }).rebuilt).toBe(true);
    expect(checkRun(paths, { repair: false }).indexProblem).toBeNull();
  });

  it('that hold an episode twice are found by fsck', () => {
    change(
      paths,
      'UPDATE episode_blocks SET data = (SELECT data FROM episode_blocks WHERE start = 0) WHERE start = 12',
    );
    expect(checkRun(paths, { repair: false }).indexProblem).toMatch(
      /hold 40 rows for 40 episodes, of which they lack 12/u,
    );
  });

  it.each(['DELETE FROM episode_blocks WHERE start = 12', 'UPDATE episodes SET arrival = 2 * arrival + 100'])(
    'is mended when the run is resumed: %s',
    (sql) => {
      change(paths, sql);
      const store = openRunStore(paths, { blockRows: 12 });
      expect(tableRows(paths, 'SELECT max(arrival) FROM episodes')).toBe(39);
      append(store, shuffled(41, 60));
      store.close();
      expect(checkRun(paths, { repair: false }).indexProblem).toBeNull();
      reader = openRunReader(paths);
      expectAnswers(reader, paths);
    },
  );

  it('does not mislead a reader that was open while rows were dropped', () => {
    reader = openRunReader(paths);
    expect(reader.countEpisodes(parseFilter(''))).toBe(40);
    // As a power failure cuts a segment back, of which nothing but the index knows.
    change(paths, 'DELETE FROM episodes WHERE sequence > 25');
    openRunStore(paths).close();
    expectAnswers(reader, paths);
    expect(tableRows(paths, 'SELECT max(arrival) FROM episodes')).toBe(24);
  });
});

describe('an index of an older version', () => {
  const columns = EPISODE_COLUMNS.join(', ');
  /** What version 4 changed. */
  const TO_VERSION_3 = `
    ALTER TABLE episodes RENAME TO newer;
    CREATE TABLE episodes (${columns.replace('sequence', 'sequence INTEGER PRIMARY KEY')}, segment, offset, length);
    INSERT INTO episodes SELECT ${columns}, segment, offset, length FROM newer;
    CREATE TABLE episode_tail (arrival INTEGER PRIMARY KEY, sequence INTEGER NOT NULL);
    INSERT INTO episode_tail SELECT arrival, sequence FROM newer
      WHERE arrival >= coalesce((SELECT max(start + rows) FROM episode_blocks), 0);
    DROP TABLE newer;
    PRAGMA user_version = 3;`;
  const TO_VERSION_1 = `
    ${TO_VERSION_3}
    DROP TABLE episode_blocks;
    DROP TABLE episode_tail;
    ALTER TABLE episodes DROP COLUMN tool_calls;
    ALTER TABLE episodes DROP COLUMN tool_failed;
    ALTER TABLE episodes DROP COLUMN tags;
    ALTER TABLE episodes DROP COLUMN failure_stage;
    ALTER TABLE episodes DROP COLUMN more;
    CREATE INDEX episodes_by_failure ON episodes (failure, sequence);
    CREATE INDEX episodes_by_family ON episodes (family, sequence);
    CREATE INDEX episodes_by_phase ON episodes (phase, sequence);
    PRAGMA user_version = 1;`;

  it.each([
    ['3', TO_VERSION_3],
    ['1', TO_VERSION_1],
  ])('%s is read as it is, and brought to the present by the writer', (version, sql) => {
    const paths = runs.run(`old-${version}`);
    const store = openRunStore(paths, { blockRows: 25 });
    append(store, shuffled(1, 60));
    store.close();
    change(paths, sql);
    const reader = openRunReader(paths);
    expectAnswers(reader, paths);
    expect(reader.episode('e7').summary).toEqual(mixedSummary(7));
    const resumed = openRunStore(paths, { blockRows: 25 });
    expectAnswers(reader, paths);
    append(resumed, shuffled(61, 90));
    expectAnswers(reader, paths);
    resumed.close();
    reader.close();
    expect(tableRows(paths, 'PRAGMA user_version')).toBe(4);
    expect(tableRows(paths, 'SELECT max(arrival) FROM episodes')).toBe(89);
    expect(checkRun(paths, { repair: false }).indexProblem).toBeNull();
  });
});

describe('a search of texts', () => {
  it('is joined with the other terms, and asked again when it knows more episodes', () => {
    const paths = runs.run('texts');
    const store = openRunStore(paths, { blockRows: 50 });
    append(store, shuffled(1, 120));
    store.close();
    const database = openDatabaseReadOnly(paths.database);
    const index = { known: [3, 60, 61, 119], indexedEpisodes: 119 };
    const finder = new EpisodeFinder(database, () => 0, {
      match: (text) => Uint32Array.from(text === 'no such file' ? index.known : []),
      get indexedEpisodes() {
        return index.indexedEpisodes;
      },
    });
    const found = (text: string): string[] =>
      finder.search(parseFilter(text), { limit: 200 }).episodes.map(({ id }) => id);
    expect(found('"no such file"')).toEqual(['e119', 'e61', 'e60', 'e3']);
    expect(found('"no such file" id<61 sort:id')).toEqual(['e3', 'e60']);
    expect(finder.count(parseFilter('-"no such file"').where)).toBe(116);
    // What the row itself says is found too.
    expect(found('"detail of gave_up" or "no such file"').length).toBeGreaterThan(4);
    index.known.push(120);
    index.indexedEpisodes = 120;
    expect(found('"no such file"')).toEqual(['e120', 'e119', 'e61', 'e60', 'e3']);
    database.close();
  });
});
