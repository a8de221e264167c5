import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shortObservations } from '../../src/domain/episode.ts';
import { openRunStore } from '../../src/store/index-writer.ts';
import { openRunReader } from '../../src/store/queries.ts';
import { runSql, type SqlRows, type SqlRun } from '../../src/store/sql-session.ts';
import { VIEW_NAMES } from '../../src/store/sql-view-names.ts';
import { bodyOf, finished, metricsOf, mixedSummary, summaryOf, temporaryRuns } from './fixture.ts';

const runs = temporaryRuns();
const [paths, other] = [runs.run('one'), runs.run('two')];
const one: SqlRun = { id: 'one', database: paths.database };
const two: SqlRun = { id: 'two', database: other.database };

beforeAll(() => {
  const store = openRunStore(paths);
  store.appendEpisodes(Array.from({ length: 59 }, (_, index) => finished(mixedSummary(index + 1))));
  const tools = { open: { calls: 3, failed: 1, ms: 7 }, 'save as': { calls: 1, failed: 0 } };
  const whole = summaryOf(60, {
    tools: { calls: 4, failed: 1, byName: tools },
    stages: { resetMs: 1.5, stepMs: 2000, inferenceMs: 30 },
  });
  store.appendEpisodes([finished(whole, bodyOf(2, 7))]);
  store.appendIteration(metricsOf(1, { kl: 0.5, heldOutByFamily: { ordered: 0.25 } }));
  store.appendIteration(metricsOf(2, { stoppedEarly: true }));
  // A later attempt goes on from iteration 2: what the first did there no longer counts.
  store.appendIteration(metricsOf(2, { attempt: 2, success: 0.75 }));
  store.appendEvaluation({
    iteration: 1,
    policyVersion: 1,
    mode: 'greedy',
    episodes: 20,
    success: 0.5,
    byFamily: { ordered: 0.25, reference: 0.75 },
  });
  store.appendEvent({
    time: 1000,
    level: 'error',
    kind: 'worker-died',
    subject: 'w',
    message: 'm',
    episodes: ['e1'],
  });
  store.appendKnobChange({
    time: 1000,
    who: 'me@here',
    knob: 'clip',
    from: 0.2,
    to: 0.1,
    iteration: 2,
    minibatch: 3,
    undo: false,
  });
  store.close();
  const second = openRunStore(other);
  second.appendIteration(metricsOf(1, { success: 0.9 }));
  second.close();
});
afterAll(() => runs.remove());

function ask(sql: string, runsAsked: readonly [SqlRun, ...SqlRun[]] = [one], limit = 1000): SqlRows {
  return runSql(runsAsked, sql, { limit });
}

function expectRefused(sql: string, message: RegExp): void {
  expect(() => ask(sql)).toThrow(
    expect.objectContaining({ code: 'sql-invalid', message: expect.stringMatching(message) }),
  );
}

describe('views', () => {
  it('give the figures that the reader gives', () => {
    const reader = openRunReader(paths);
    const { rows } = ask('SELECT iteration, attempt, kl, success, stopped_early FROM iterations ORDER BY 1');
    expect(rows).toEqual(
      reader
        .iterations()
        .map((row) => [row.iteration, row.attempt, row.kl, row.success, Number(row.stoppedEarly)]),
    );
    reader.close();
  });

  it('episodes have their behaviours as flags and their start as a time', () => {
    const { columns, rows } = ask(
      'SELECT id, loop, unread_submit, tool_thrash, started, body FROM episodes WHERE sequence = 4',
    );
    expect(columns).toEqual(['id', 'loop', 'unread_submit', 'tool_thrash', 'started', 'body']);
    expect(rows).toEqual([['e4', 1, 1, 0, new Date(1_790_000_000_004.25).toISOString(), 'segment']]);
  });

  it('unfold what an episode has several of, and what it saw first and last', () => {
    expect(ask("SELECT reset_ms, step_ms, inference_ms, tools FROM episodes WHERE id = 'e60'").rows).toEqual([
      [1.5, 2000, 30, '{"open":{"calls":3,"failed":1,"ms":7},"save as":{"calls":1,"failed":0}}'],
    ]);
    expect(ask('SELECT id, tool, calls, failed, ms FROM tools ORDER BY tool').rows).toEqual([
      ['e60', 'open', 3, 1, 7],
      ['e60', 'save as', 1, 0, null],
    ]);
    expect(ask('SELECT component, paid FROM components WHERE sequence = 60').rows).toEqual([
      ['goal', 1],
      ['step', -0.1],
    ]);
    const { first, last } = shortObservations(bodyOf(2, 7));
    expect(
      ask('SELECT first_observation, last_observation FROM observations WHERE sequence = 60').rows,
    ).toEqual([[first, last]]);
    expect(ask('SELECT run, sequence, first_observation FROM all_observations', [two, one], 1).rows).toEqual([
      ['one', 1, shortObservations(bodyOf(3)).first],
    ]);
  });

  it('has no observations of an episode that cannot be read, and the others all the same', () => {
    const damaged = runs.run('damaged');
    const store = openRunStore(damaged);
    for (const sequence of [1, 2]) store.appendEpisodes([finished(mixedSummary(sequence))]);
    store.close();
    const file = join(damaged.segments, '000001.seg');
    const bytes = readFileSync(file);
    bytes[bytes.byteLength - 5]! ^= 1;
    writeFileSync(file, bytes);
    const { rows } = ask('SELECT id, first_observation FROM observations', [
      { id: 'damaged', database: damaged.database },
    ]);
    expect(rows).toEqual([
      ['e1', shortObservations(bodyOf(3)).first],
      ['e2', null],
    ]);
  });

  it('evaluations by family, events and knob changes', () => {
    expect(ask('SELECT family, success FROM evaluations_by_family ORDER BY family').rows).toEqual([
      ['ordered', 0.25],
      ['reference', 0.75],
    ]);
    expect(ask('SELECT run, level, kind, episodes, at FROM events').rows).toEqual([
      ['one', 'error', 'worker-died', '["e1"]', '1970-01-01T00:00:01.000Z'],
    ]);
    expect(ask('SELECT knob, old_value, new_value, undo FROM knob_changes').rows).toEqual([
      ['clip', 0.2, 0.1, 0],
    ]);
  });

  it('of another run stand beside them, and together', () => {
    expect(ask('SELECT run, success FROM b_iterations', [one, two]).rows).toEqual([['two', 0.9]]);
    expect(ask('SELECT run, count(*) FROM all_iterations GROUP BY run', [one, two]).rows).toEqual([
      ['one', 2],
      ['two', 1],
    ]);
  });

  it('are all explained, column by column, in docs/SQL.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/SQL.md'), 'utf8');
    const missing = VIEW_NAMES.flatMap((view) =>
      [view, ...ask(`SELECT * FROM ${view} LIMIT 0`).columns].filter((name) => !page.includes(`\`${name}\``)),
    );
    expect(missing).toEqual([]);
  });
});

describe('nothing can be written', () => {
  it.each([
    ['DELETE FROM episodes', /^DELETE is not a query/u],
    ['-- a comment\n/* another */ UPDATE episodes SET steps = 0', /^UPDATE is not a query/u],
    ["ATTACH 'x.db' AS x", /^ATTACH is not a query/u],
    ['PRAGMA query_only = OFF', /^PRAGMA is not a query/u],
    ['WITH x AS (SELECT 1) DELETE FROM main.episodes', /which writes/u],
    ['SELECT 1; DELETE FROM main.episodes', /more than one statement/u],
    ['', /is not a query/u],
  ])('%s', expectRefused);

  it('a column or view that is not there is told, with what may have been meant', () => {
    expect(() => ask('SELECT * FROM episode')).toThrow('no such table: episode; did you mean episodes?');
    expect(() => ask('SELECT nope FROM episodes')).toThrow('no such column: nope');
  });
});

describe('limits', () => {
  it('says when there was more', () => {
    expect(ask('SELECT id FROM episodes', [one], 60)).toMatchObject({ truncated: false });
    const cut = ask('SELECT id FROM episodes', [one], 59);
    expect(cut.rows).toHaveLength(59);
    expect(cut.truncated).toBe(true);
  });

  it('a run without an index is an error, not a new file', () => {
    const missing = { id: 'none', database: join(runs.directory, 'none.db') };
    expect(() => ask('SELECT 1', [missing])).toThrow(expect.objectContaining({ code: 'store-failed' }));
    expect(() => ask('SELECT 1', [one, missing])).toThrow(expect.objectContaining({ code: 'store-failed' }));
  });

  it('a run that is being written answers too, and blobs come as hexadecimal digits', () => {
    const writer = new Database(paths.database);
    writer.exec('BEGIN IMMEDIATE');
    expect(ask("SELECT count(*), x'00ff' FROM episodes").rows).toEqual([[60, 'x00ff']]);
    writer.exec('ROLLBACK');
    writer.close();
  });
});
