import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, type Json } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StepRecord } from '../../src/domain/episode.ts';
import { toAtif } from '../../src/interop/atif.ts';
import { FileOutput } from '../../src/interop/byte-output.ts';
import {
  type EpisodeExportReport,
  type EpisodeFormat,
  exportEpisodes,
  exportMetrics,
  type TableFormat,
} from '../../src/interop/export-episodes.ts';
import { parquetTable } from '../../src/interop/parquet-table.ts';
import { parseFilter } from '../../src/store/filter.ts';
import { openRunStore } from '../../src/store/index-writer.ts';
import { openRunReader, type RunReader } from '../../src/store/queries.ts';
import { bodyOf, finished, metricsOf, mixedSummary, temporaryRuns } from '../store/fixture.ts';
import { mountMissing, mountSmall, unmount } from '../support/mount.ts';
import { atifSchema } from './atif-schema.ts';

const EPISODES = 240;
const runs = temporaryRuns();
const paths = runs.run('one');
let reader: RunReader;
let duck: DuckDBConnection;

beforeAll(async () => {
  const store = openRunStore(paths);
  store.appendEpisodes(
    Array.from({ length: EPISODES }, (_, index) => {
      const summary = mixedSummary(index + 1);
      const body = bodyOf(1 + (index % 7), index);
      // Text that CSV has to quote, and an action without an argument.
      const failureDetail = summary.failure === null ? null : 'a,"b"\nc';
      const lines = body.lines.map((line) => `${line} é, "quoted"`);
      const steps = body.steps.map((step, at): StepRecord => {
        return at === 0 ? { ...step, action: { type: 'noop', argument: null } } : step;
      });
      return finished({ ...summary, failureDetail }, { ...body, lines, steps });
    }),
  );
  for (let iteration = 1; iteration <= 30; iteration++) {
    store.appendIteration(
      metricsOf(iteration, {
        kl: iteration / 7,
        heldOutSuccess: iteration % 2 === 0 ? null : iteration / 100,
        stoppedEarly: iteration % 3 === 0,
      }),
    );
  }
  store.close();
  reader = openRunReader(paths);
  duck = await (await DuckDBInstance.create(':memory:')).connect();
});
afterAll(() => {
  reader.close();
  duck.closeSync();
  runs.remove();
});

interface ExportOf {
  readonly filter?: string;
  readonly format: EpisodeFormat;
  readonly steps?: boolean;
}

async function written({
  filter = 'sort:id',
  format,
  steps = false,
}: ExportOf): Promise<{ file: string; report: EpisodeExportReport }> {
  const file = join(
    runs.directory,
    `${format}-${steps ? 'steps' : 'episodes'}-${filter.replaceAll(/\W/gu, '_')}`,
  );
  const output = new FileOutput(file, { replace: true });
  const parsed = parseFilter(filter);
  const report = await exportEpisodes(reader, {
    run: 'one',
    filter: parsed,
    format,
    steps,
    output,
    onProgress: () => undefined,
  });
  await output.finish();
  return { file, report };
}

/** What DuckDB makes of a file of that format. */
function source(file: string, format: TableFormat): string {
  if (format === 'parquet') return `read_parquet('${file}')`;
  if (format === 'jsonl') return `read_json('${file}', format = 'newline_delimited')`;
  return `read_csv('${file}', header = true, quote = '"', escape = '"', new_line = '\\n')`;
}

async function rows(sql: string): Promise<Record<string, Json>[]> {
  return (await duck.runAndReadAll(sql)).getRowObjectsJson();
}

describe.each(['parquet', 'jsonl', 'csv'] as const)('%s, read by DuckDB', (format) => {
  it('has the episodes of the store: counts, sums, groups, nulls', async () => {
    const { file, report } = await written({ format });
    expect(report).toEqual({ episodes: EPISODES, rows: EPISODES, dropped: 0, damaged: 0 });
    const summaries = reader.episodes(parseFilter('sort:id'), { limit: EPISODES }).episodes;
    const [totals] = await rows(
      `SELECT count(*)::INT AS n, sum(steps)::INT AS steps, sum(reward) AS reward, count(reward)::INT AS rewarded,
              max(seed)::DOUBLE AS seed, count(failure_detail)::INT AS details, sum(success::INT)::INT AS successes
       FROM ${source(file, format)}`,
    );
    const rewards = summaries.flatMap(({ reward }) => (reward === null ? [] : [reward]));
    expect(totals).toMatchObject({
      n: EPISODES,
      steps: summaries.reduce((sum, { steps }) => sum + steps, 0),
      reward: expect.closeTo(
        rewards.reduce((sum, reward) => sum + reward, 0),
        9,
      ),
      rewarded: rewards.length,
      seed: EPISODES * 7919,
      details: summaries.filter(({ failure }) => failure !== null).length,
      successes: summaries.filter(({ success }) => success).length,
    });
    const groups = await rows(
      `SELECT coalesce(failure, 'success') AS ending, count(*)::INT AS n FROM ${source(file, format)} GROUP BY 1`,
    );
    expect(Object.fromEntries(groups.map(({ ending, n }) => [ending, n]))).toEqual(
      reader.failureCounts(parseFilter('')),
    );
  });

  it('has the steps of the store', async () => {
    const { file, report } = await written({ format, steps: true });
    const bodies = Array.from({ length: EPISODES }, (_, index) => reader.episode(`e${index + 1}`).body);
    const steps = bodies.flatMap((body) => body.steps);
    expect(report).toEqual({ episodes: EPISODES, rows: steps.length, dropped: 0, damaged: 0 });
    const [totals] = await rows(
      `SELECT count(*)::INT AS n, sum(reward) AS reward, sum(value) AS value, count(argument)::INT AS arguments,
              count(DISTINCT episode)::INT AS episodes, sum("last"::INT)::INT AS lasts
       FROM ${source(file, format)}`,
    );
    expect(totals).toEqual({
      n: steps.length,
      reward: expect.closeTo(
        steps.reduce((sum, { reward }) => sum + reward, 0),
        9,
      ),
      value: expect.closeTo(
        steps.reduce((sum, { value }) => sum + value, 0),
        9,
      ),
      arguments: steps.filter(({ action }) => action.argument !== null).length,
      episodes: EPISODES,
      lasts: EPISODES,
    });
  });
});

describe('types in Parquet', () => {
  it('lists, structures, flags and timestamps are what they are', async () => {
    const episodes = await written({ format: 'parquet' });
    const types = await rows(`DESCRIBE SELECT * FROM read_parquet('${episodes.file}')`);
    expect(Object.fromEntries(types.map((row) => [row['column_name'], row['column_type']]))).toMatchObject({
      id: 'VARCHAR',
      seed: 'BIGINT',
      reward: 'DOUBLE',
      success: 'BOOLEAN',
      started: 'TIMESTAMP WITH TIME ZONE',
      behaviours: 'VARCHAR[]',
    });
    const [one] = await rows(
      `SELECT epoch_ms(started)::DOUBLE AS started, behaviours FROM read_parquet('${episodes.file}') WHERE id = 'e4'`,
    );
    expect(one).toEqual({ started: 1_790_000_000_004, behaviours: ['loop', 'unread_submit'] });
    const steps = await written({ format: 'parquet', steps: true });
    const [step] = await rows(
      `SELECT observation, reward_parts, final_observation FROM read_parquet('${steps.file}')
       WHERE episode = 'e3' AND step = 2`,
    );
    const { body } = reader.episode('e3');
    expect(step).toEqual({
      observation: body.steps[1]?.observation.map((line) => body.lines[line]),
      // Nobody else was paid: the episode has one agent.
      reward_parts: body.steps[1]?.parts.map((part) => ({ ...part, agent: null })),
      final_observation: null,
    });
  });

  it('more rows than a row group holds are all there', async () => {
    const file = join(runs.directory, 'groups.parquet');
    const output = new FileOutput(file, { replace: true });
    const table = parquetTable<number>([{ name: 'n', type: 'integer', value: (row) => row }], output);
    for (let row = 0; row < 25_000; row++) table.write(row);
    table.close();
    await output.finish();
    expect(await rows(`SELECT count(*)::INT AS n, sum(n)::INT AS sum FROM read_parquet('${file}')`)).toEqual([
      { n: 25_000, sum: (25_000 * 24_999) / 2 },
    ]);
  });

  it.each(['parquet', 'jsonl', 'csv'] as const)('metrics as %s', async (format) => {
    const file = join(runs.directory, `metrics.${format}`);
    const output = new FileOutput(file, { replace: true });
    expect(exportMetrics(reader, { run: 'one', format, output })).toBe(30);
    await output.finish();
    const [totals] = await rows(
      `SELECT count(*)::INT AS n, sum(kl) AS kl, count(held_out_success)::INT AS held_out,
              sum(stopped_early::INT)::INT AS stopped FROM ${source(file, format)}`,
    );
    expect(totals).toEqual({ n: 30, kl: expect.closeTo(465 / 7, 9), held_out: 15, stopped: 10 });
  });
});

describe('ATIF', () => {
  it('every document is as the format has it, with the actions as calls and what followed as results', async () => {
    const { file, report } = await written({ format: 'atif', filter: 'iter:1..3 sort:id' });
    const documents = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => atifSchema.parse(JSON.parse(line)));
    expect(documents).toHaveLength(report.episodes);
    const { body } = reader.episode('e3');
    const third = documents.find(({ trajectory_id: id }) => id === 'one/e3');
    expect(third?.steps).toHaveLength(body.steps.length + 1);
    const agent = third?.steps[2];
    expect(agent).toMatchObject({
      source: 'agent',
      tool_calls: [{ function_name: 'input', arguments: { argument: body.steps[1]?.action.argument } }],
      observation: {
        results: [
          {
            content: (body.steps[2]?.observation ?? body.finalObservation)
              .map((line) => body.lines[line])
              .join('\n'),
          },
        ],
      },
    });
  });

  it('says what a step recorded of its tool, its time and its policy', () => {
    const { summary, body } = reader.episode('e3');
    const [first, ...rest] = body.steps;
    if (first === undefined) throw new Error('no steps');
    const tool = { name: 'open', ok: false, ms: 12, attempts: 2 };
    const steps = [{ ...first, policyVersion: 2, tool, ms: 13, state: 'abc' }, ...rest];
    const document = atifSchema.parse(toAtif('one', { summary, body: { ...body, steps } }));
    expect(document.steps[1]).toMatchObject({
      model_name: 'one policy 2',
      tool_calls: [{ extra: { tool } }],
      extra: { ms: 13, state: 'abc' },
    });
    expect(document.steps[2]).not.toHaveProperty('model_name');
    expect(document.extra).toMatchObject({ tools: {}, stages: { reset_ms: 0 }, tags: [] });
  });

  it.each([
    [['steps', 1, 'observation', 'results', 0, 'source_call_id'], 'another'],
    [['steps', 1, 'step_id'], 7],
    [['steps', 1, 'llm_call_count'], 0],
    [['steps', 0, 'metrics'], {}],
    [['steps', 0, 'timestamp'], 'noon'],
    [['steps', 1, 'observation', 'results', 0, 'subagent_trajectory_ref'], [{ session_id: 'run' }]],
    [['schema_version'], 'ATIF-v1.8'],
    [['subagent_trajectories'], [{}]],
    [['final_metrics', 'total_steps'], 1],
    [['agent', 'model'], 'x'],
  ])('the schema that documents are checked with refuses %j: %j', async (path, value) => {
    const { file } = await written({ format: 'atif', filter: 'id:1' });
    const document = JSON.parse(readFileSync(file, 'utf8'));
    expect(atifSchema.safeParse(document).success).toBe(true);
    const parent = path.slice(0, -1).reduce((at, key) => at[key], document);
    parent[path.at(-1) ?? ''] = value;
    expect(atifSchema.safeParse(document).success).toBe(false);
  });
});

describe('the file', () => {
  it('is not replaced unless asked, and not there at all when the export fails', () => {
    const directory = mkdtempSync(join(tmpdir(), 'agentrl-lab-export-'));
    const file = join(directory, 'x.csv');
    writeFileSync(file, 'precious');
    expect(() => new FileOutput(file, { replace: false })).toThrow(
      expect.objectContaining({ code: 'usage' }),
    );
    const output = new FileOutput(file, { replace: true });
    output.write(Buffer.from('half'));
    output.abandon();
    expect(readFileSync(file, 'utf8')).toBe('precious');
    expect(readdirSync(directory)).toEqual(['x.csv']);
    const nowhere = join(directory, 'no', 'x.csv');
    expect(() => new FileOutput(nowhere, { replace: false })).toThrow(
      expect.objectContaining({ code: 'run-unwritable' }),
    );
    rmSync(directory, { recursive: true });
  });

  it.skipIf(mountMissing() !== null)('a full disk is told, and nothing is left', async () => {
    const mount = mkdtempSync(join(tmpdir(), 'agentrl-lab-full-'));
    mountSmall(mount, 2);
    const file = join(mount, 'x.jsonl');
    const output = new FileOutput(file, { replace: false });
    const full = (async () => {
      for (let part = 0; part < 5; part++) output.write(Buffer.alloc(1024 * 1024));
      await output.finish();
    })();
    await expect(full).rejects.toMatchObject({ code: 'disk-full' });
    output.abandon();
    expect(existsSync(file)).toBe(false);
    expect(readdirSync(mount)).toEqual([]);
    unmount(mount);
    rmSync(mount, { recursive: true });
  });
});
