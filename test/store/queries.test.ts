import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filterToSql, orderToSql, SQLITE } from '../../bench/peers/filter-sql.ts';
import { type EpisodeSummary, episodeSummarySchema } from '../../src/domain/episode.ts';
import { BEHAVIOUR_NAMES } from '../../src/domain/failure.ts';
import { episodeSequence } from '../../src/domain/id.ts';
import { type Filter, formatFilter, parseFilter } from '../../src/store/filter.ts';
import { summaryMatcher } from '../../src/store/filter-match.ts';
import {
  type FilterNode,
  type FilterTerm,
  isPart,
  type NumberField,
  toolOf,
} from '../../src/store/filter-tree.ts';
import { openRunStore } from '../../src/store/index-writer.ts';
import { openRunReader, type RunReader } from '../../src/store/queries.ts';
import type { RunPaths } from '../../src/store/run-directory.ts';
import { FIRST_START, filters } from './filter-arbitrary.ts';
import { bodyOf, finished, metricsOf, mixedSummary, type TemporaryRuns, temporaryRuns } from './fixture.ts';

/** Whole minutes after every beginning, so that ages are exact. */
const NOW = FIRST_START + 160 * 60_000;
const EPISODES = Array.from({ length: 150 }, (_, index) => varied(index + 1));
let runs: TemporaryRuns;
let paths: RunPaths;
let reader: RunReader;
beforeAll(() => {
  runs = temporaryRuns();
  paths = runs.run();
  const store = openRunStore(paths);
  store.appendEpisodes(EPISODES.map((summary) => finished(summary, bodyOf(2, episodeSequence(summary.id)))));
  store.close();
  reader = openRunReader(paths, () => NOW);
});
afterAll(() => {
  reader.close();
  runs.remove();
});

/** Episodes that differ in every field that can be filtered by. */
function varied(sequence: number): EpisodeSummary {
  const base = mixedSummary(sequence);
  const pick = <Value>(values: readonly Value[], divisor: number): Value =>
    values[Math.floor(sequence / divisor) % values.length]!;
  return episodeSummarySchema.parse({
    ...base,
    task: {
      env: pick(['workbench', 'classic'], 3),
      family: pick(['read_then_enter', 'ordered', 'say "x"', 'a b'], 2),
      split: pick(['train', 'held_out'], 4),
      index: sequence % 9,
    },
    mode: pick(['sampled', 'greedy'], 5),
    host: pick(['local', 'gpu-1'], 6),
    difficulty: pick([1, 2, 2.5], 1),
    attempt: pick([1, 1, 2], 2),
    policyVersion: sequence % 20,
    firstPolicyVersion: sequence % 20,
    wallMs: sequence / 3,
    truncated: base.failure === 'max_steps',
    terminated: base.failure !== 'max_steps',
    reward: base.trust === 'void' ? null : pick([-1, 0, 1 / 3, 10], 1),
    trust: base.trust === 'valid' && sequence % 13 === 0 ? 'partial' : base.trust,
    behaviours: BEHAVIOUR_NAMES.filter((_, index) => (sequence >> index) % 3 === 0),
    startedAt: FIRST_START + sequence * 60_000,
    components: pick<Record<string, number>>(
      [{ goal: 1, step: -0.1 }, { step: sequence / 50 }, {}, { goal: 0, 'Odd-1.x': sequence % 5 }],
      1,
    ),
    tags: pick<string[] | undefined>([undefined, ['hard'], ['hard', 'long form'], ['say "x"']], 3),
    tools: {
      calls: sequence % 12,
      failed: sequence % 4,
      byName: pick<Record<string, { calls: number; failed: number; ms?: number }>>(
        [
          {},
          { open: { calls: sequence % 12, failed: sequence % 4, ms: sequence / 7 } },
          { open: { calls: 3, failed: 0 }, 'Odd-1.x': { calls: 2, failed: 1 } },
          { calls: { calls: 1, failed: 1 } },
        ],
        1,
      ),
    },
    stages: pick<object | undefined>(
      [undefined, { resetMs: sequence / 9, stepMs: sequence % 40, inferenceMs: 0.25 * sequence }],
      1,
    ),
    failureStage: base.failure === null ? undefined : pick([undefined, 'step', 'reset'], 2),
  });
}

function numberOf(episode: EpisodeSummary, field: NumberField): number | null {
  if (isPart(field)) return episode.components[field.slice('part.'.length)] ?? null;
  const about = toolOf(field);
  if (about !== null) {
    const counted = episode.tools.byName[about.tool];
    return about.count === 'ms' ? (counted?.ms ?? null) : (counted?.[about.count] ?? 0);
  }
  const values: Record<string, number | null> = {
    id: episodeSequence(episode.id),
    steps: episode.steps,
    reward: episode.reward,
    iter: episode.iteration,
    policy: episode.policyVersion,
    worker: episode.worker,
    slot: episode.slot,
    difficulty: episode.difficulty,
    index: episode.task.index,
    attempt: episode.attempt,
    ms: episode.wallMs,
    age: NOW - episode.startedAt,
    started: episode.startedAt,
    agents: Math.max(1, Object.keys(episode.agentRewards ?? {}).length),
    'tool.calls': episode.tools.calls,
    'tool.failed': episode.tools.failed,
    'stage.reset': episode.stages.resetMs,
    'stage.step': episode.stages.stepMs,
    'stage.inference': episode.stages.inferenceMs,
  };
  const value = values[field];
  if (value === undefined) throw new Error(`no ${field}`);
  return value;
}

/** What docs/FILTER.md says, without SQL. */
function matches(node: FilterNode, episode: EpisodeSummary): boolean {
  if (node.kind === 'all') return node.parts.every((part) => matches(part, episode));
  if (node.kind === 'any') return node.parts.some((part) => matches(part, episode));
  if (node.kind === 'not') return !matches(node.part, episode);
  return matchesTerm(node, episode);
}

/** ASCII letters only: what SQLite's LIKE does. */
function lower(text: string): string {
  return text.replace(/[A-Z]/gu, (letter) => letter.toLowerCase());
}

function matchesTerm(term: FilterTerm, episode: EpisodeSummary): boolean {
  if (term.kind === 'text') {
    return [episode.failureDetail, episode.failure, episode.task.family].some(
      (field) => field !== null && lower(field).includes(lower(term.text)),
    );
  }
  if (term.kind === 'flag') return term.flags.some((flag) => flagsOf(episode).includes(flag));
  if (term.kind === 'choice') return hasName(term, episode);
  const value = numberOf(episode, term.field);
  if (value === null) return false;
  if (term.kind === 'numbers') return term.values.includes(value);
  if (term.kind === 'range') return value >= term.from && value <= term.to;
  const { comparison } = term;
  if (comparison === '<') return value < term.value;
  if (comparison === '<=') return value <= term.value;
  return comparison === '>' ? value > term.value : value >= term.value;
}

function hasName(
  { field, values }: Extract<FilterTerm, { kind: 'choice' }>,
  episode: EpisodeSummary,
): boolean {
  const { env, family, split } = episode.task;
  const { failure, failureDetail, behaviours, host, phase, mode, trust } = episode;
  if (field === 'detail') {
    return failureDetail !== null && values.some((value) => lower(failureDetail).includes(lower(value)));
  }
  const fail = failure === null ? ['none'] : [failure, 'any'];
  const stage = typeof episode.failureStage === 'string' ? [episode.failureStage, 'any'] : ['none'];
  const ended = trust === 'void' ? 'void' : episode.truncated ? 'truncated' : 'terminated';
  const held: Record<typeof field, readonly string[]> = {
    fail,
    stage,
    behaviour: behaviours,
    tag: episode.tags ?? [],
    ended: [ended],
    trust: [trust],
    family: [family],
    env: [env],
    host: [host],
    split: [split],
    phase: [phase],
    mode: [mode],
  };
  return values.some((value) => held[field].includes(value));
}

function flagsOf(episode: EpisodeSummary): string[] {
  const flags: string[] = [episode.phase, episode.success ? 'success' : 'failed'];
  if (episode.trust === 'void') flags.push('void');
  if (episode.truncated) flags.push('truncated');
  if (episode.terminated) flags.push('terminated');
  if (episode.task.split === 'held_out') flags.push('heldout');
  return flags;
}

function expected(filter: Filter): string[] {
  const { field, descending } = filter.sort;
  return EPISODES.filter((episode) => matches(filter.where, episode))
    .toSorted((left, right) => {
      const [a, b] = [numberOf(left, field), numberOf(right, field)];
      const newest = episodeSequence(right.id) - episodeSequence(left.id);
      if (a === b) return newest;
      if (a === null || b === null) return a === null ? 1 : -1;
      return descending ? b - a : a - b;
    })
    .map(({ id }) => id);
}

/** Every page of a filter, one after the other. */
function paged(filter: Filter, limit: number): string[] {
  const found: string[] = [];
  let after: string | null = null;
  do {
    const page = reader.episodes(filter, { limit, after });
    expect(page.episodes.length).toBeLessThanOrEqual(limit);
    found.push(...page.episodes.map(({ id }) => id));
    after = page.next;
  } while (after !== null);
  return found;
}

/** What SQLite finds in the table, by a scan. */
function scanned(database: Database.Database, { where, sort }: Filter): string[] {
  const { sql, parameters } = filterToSql(where, { dialect: SQLITE, now: NOW });
  return database
    .prepare<unknown[], number>(
      `SELECT sequence FROM episodes WHERE ${sql} ORDER BY ${orderToSql(sort, SQLITE)}`,
    )
    .pluck()
    .all(...parameters)
    .map((sequence) => `e${sequence}`);
}

describe('a filter', () => {
  it('finds in the columns what plain evaluation, SQL and a look at each episode find, page by page, in the same order, with the same counts', () => {
    const database = new Database(paths.database, { readonly: true });
    let matched = 0;
    fc.assert(
      fc.property(filters, fc.integer({ min: 1, max: 60 }), (filter, limit) => {
        const wanted = expected(filter);
        const text = formatFilter(filter);
        const found = paged(filter, limit);
        const inTable = scanned(database, filter);
        const oneByOne = summaryMatcher(filter.where);
        const alone = EPISODES.filter((episode) => oneByOne(episode, NOW)).map(({ id }) => id);
        expect(alone.toSorted(), `filter ${text}`).toEqual(wanted.toSorted());
        expect(found, `filter ${text}`).toEqual(wanted);
        expect(inTable, `filter ${text}`).toEqual(wanted);
        expect(reader.countEpisodes(filter)).toBe(wanted.length);
        const counts = reader.failureCounts(filter);
        expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(wanted.length);
        matched += wanted.length;
      }),
      { numRuns: 400 },
    );
    database.close();
    expect(matched).toBeGreaterThan(2000);
  });

  it('gives whole summaries', () => {
    const page = reader.episodes(parseFilter('sort:id'), { limit: 1000 });
    expect(page).toEqual({ episodes: EPISODES, next: null });
  });

  it('by failure counts types and successes', () => {
    const counts = reader.failureCounts(parseFilter('fail:gave_up,none'));
    expect(Object.keys(counts).toSorted()).toEqual(['gave_up', 'success']);
    expect(counts['success']).toBe(EPISODES.filter(({ success }) => success).length);
  });

  it('refuses a continuation that belongs to another order, or is none', () => {
    const { next } = reader.episodes(parseFilter('sort:steps'), { limit: 1 });
    expect(() => reader.episodes(parseFilter('sort:-steps'), { limit: 1, after: next })).toThrow(
      expect.objectContaining({ code: 'usage', message: expect.stringContaining('sort:steps') }),
    );
    expect(() => reader.episodes(parseFilter(''), { limit: 1, after: 'e7' })).toThrow(
      expect.objectContaining({ code: 'usage' }),
    );
  });
});

describe('one episode', () => {
  it('comes with its steps', () => {
    expect(reader.episode('e42')).toEqual({ summary: EPISODES[41], body: bodyOf(2, 42) });
  });

  it.each(['e151', 'e0', '42', '', "e1'; DROP TABLE episodes"])('%j is not there: says which are', (id) => {
    expect(() => reader.episode(id)).toThrow(
      expect.objectContaining({
        code: 'episode-not-found',
        message: `no episode "${id}": there are e1 to e150`,
      }),
    );
  });

  it('whose bytes are damaged, or are of another, is refused, and the list still works', () => {
    const damaged = runs.run('damaged');
    const store = openRunStore(damaged);
    for (const sequence of [11, 12, 13]) store.appendEpisodes([finished(mixedSummary(sequence))]);
    store.close();
    const file = join(damaged.segments, '000001.seg');
    const bytes = readFileSync(file);
    bytes[bytes.byteLength - 5]! ^= 1;
    writeFileSync(file, bytes);
    const database = new Database(damaged.database);
    database.exec(
      `UPDATE episodes SET offset = (SELECT offset FROM episodes WHERE sequence = 11),
                           length = (SELECT length FROM episodes WHERE sequence = 11) WHERE sequence = 12`,
    );
    database.close();
    const opened = openRunReader(damaged);
    expect(opened.episode('e11').body).toEqual(bodyOf(3));
    expect(() => opened.episode('e12')).toThrow(/episode e12 cannot be read: the index points at e11/u);
    expect(() => opened.episode('e13')).toThrow(expect.objectContaining({ code: 'segment-corrupt' }));
    expect(opened.countEpisodes(parseFilter(''))).toBe(3);
    opened.close();
  });

  it('of an unknown shape is refused, naming the place', () => {
    const odd = runs.run('odd');
    const store = openRunStore(odd);
    store.appendEpisodes([{ summary: mixedSummary(1), body: Buffer.from('{"lines": [1]}') }]);
    store.close();
    const opened = openRunReader(odd);
    expect(() => opened.episode('e1')).toThrow(/episode e1 cannot be read: lines\.0: /u);
    opened.close();
  });
});

describe('a live run', () => {
  it('shows what was stored since the reader was opened', () => {
    const live = runs.run('live');
    const store = openRunStore(live);
    const opened = openRunReader(live);
    expect(() => opened.episode('e1')).toThrow(/none is stored yet/u);
    store.appendEpisodes([finished(mixedSummary(1))]);
    expect(opened.episode('e1').summary).toEqual(mixedSummary(1));
    opened.close();
    store.close();
  });

  it('gives metrics, evaluations, knobs and events in their orders', () => {
    const live = runs.run('metrics');
    const store = openRunStore(live);
    for (const iteration of [1, 2, 3]) store.appendIteration(metricsOf(iteration));
    store.appendIteration(metricsOf(2, { attempt: 2, reward: 0.75, heldOutByFamily: { ordered: 0.5 } }));
    for (const [iteration, mode, success] of [
      [2, 'sampled', 0.1],
      [2, 'greedy', 0.2],
      [1, 'greedy', 0.3],
      [2, 'greedy', 0.4],
    ] as const) {
      store.appendEvaluation({
        iteration,
        policyVersion: iteration,
        mode,
        episodes: 10,
        success,
        byFamily: {},
      });
    }
    for (const minibatch of [1, 2]) {
      store.appendKnobChange({
        time: 0,
        who: 'me@here',
        knob: 'lr',
        from: 1,
        to: 2,
        iteration: 1,
        minibatch,
        undo: false,
      });
    }
    for (const message of ['first', 'second', 'third']) {
      store.appendEvent({
        time: 0,
        level: 'info',
        kind: 'checkpoint',
        subject: 'run',
        message,
        episodes: [],
      });
    }
    const opened = openRunReader(live);
    const attempts = (): string[] =>
      opened.iterations().map(({ iteration, attempt }) => `${iteration} by ${attempt}`);
    expect(attempts()).toEqual(['1 by 1', '2 by 2']);
    expect(opened.iterations(1)[0]).toEqual(
      metricsOf(2, { attempt: 2, reward: 0.75, heldOutByFamily: { ordered: 0.5 } }),
    );
    expect(opened.iterations(2)).toEqual([]);
    // The third iteration of the first attempt does not count any more.
    expect(opened.success(0).map(({ iteration, attempt }) => [iteration, attempt])).toEqual([
      [1, 1],
      [2, 2],
    ]);
    store.appendIteration(metricsOf(3, { attempt: 2 }));
    expect(attempts()).toEqual(['1 by 1', '2 by 2', '3 by 2']);
    expect(opened.evaluations().map(({ success }) => success)).toEqual([0.3, 0.1, 0.4]);
    expect(opened.knobChanges().map(({ minibatch }) => minibatch)).toEqual([1, 2]);
    expect(opened.events(2).map(({ message }) => message)).toEqual(['third', 'second']);
    opened.close();
    store.close();
  });
});
