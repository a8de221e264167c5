import { BEHAVIOUR_NAMES } from '../domain/failure.ts';
import { METRICS } from '../domain/metric.ts';
import { derivedSql } from './columns/derived-columns.ts';
import { behaviourMask, EPISODE_COLUMNS, episodeColumnSql } from './episode-row.ts';
import { COUNTING } from './iteration-rows.ts';
import { VIEW_NAMES, type ViewName } from './sql-view-names.ts';

/** Columns of the index that a view shows under another form or not at all. */
const NOT_AS_STORED: ReadonlySet<string> = new Set([
  'started_at',
  'terminated',
  'truncated',
  'success',
  'behaviours',
]);

/** ISO 8601 in UTC, to the millisecond, of a column of ms since the epoch. */
function isoTime(column: string): string {
  return `strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch')`;
}

/** Of a row of `episodes`, what its column `more` has; nothing in an index of version 1. */
function fromMore(schema: string, version: number): string {
  const more = version < 2 ? `(SELECT *, '{}' AS more FROM ${schema}.episodes)` : `${schema}.episodes`;
  return `${more} AS one`;
}

/** What tells an episode's rows in the views of its parts from others, without a join. */
const WHOSE = `'e' || one.sequence AS id, one.sequence AS sequence, one.family AS family, one.phase AS phase,
        one.iteration AS iteration, one.success AS success`;

function jsonColumns(source: string, columns: readonly (readonly [column: string, field: string])[]): string {
  return columns.map(([column, field]) => `${source} ->> '$.${field}' AS ${column}`).join(', ');
}

/** Where the wall clock of an episode went. */
const STAGES = [
  ['reset_ms', 'resetMs'],
  ['step_ms', 'stepMs'],
  ['inference_ms', 'inferenceMs'],
] as const;

/** SQL functions that read an episode's record: (schema, segment, offset, length, sequence) → text. */
export const OBSERVATION_FUNCTIONS = ['first_observation', 'last_observation'] as const;

/** How many agents an episode has. */
const agentsSql = derivedSql('agents');

/** What each documented view selects, of the tables of one schema; docs/SQL.md explains every column. */
const VIEWS: Readonly<Record<ViewName, (schema: string, version: number) => string>> = {
  episodes: (schema, version) => {
    const plain = EPISODE_COLUMNS.filter((column) => !NOT_AS_STORED.has(column)).map((column) =>
      episodeColumnSql(column, version),
    );
    const behaviours = BEHAVIOUR_NAMES.map(
      (name) => `(behaviours & ${behaviourMask([name])}) <> 0 AS ${name}`,
    );
    const unfolded = STAGES.map(([column, field]) => {
      const value = version < 2 ? '0' : `coalesce(more ->> '$.stages.${field}', 0)`;
      return `${value} AS ${column}`;
    });
    unfolded.push(`${version < 2 ? '1' : agentsSql} AS agents`);
    unfolded.push(`${version < 2 ? 'NULL' : "more -> '$.agentRewards'"} AS agent_rewards`);
    unfolded.push(`${version < 2 ? "'{}'" : `coalesce(more -> '$.tools.byName', '{}')`} AS tools`);
    return `SELECT 'e' || sequence AS id, ${[...plain, ...unfolded].join(', ')}, started_at, ${isoTime('started_at')} AS started,
        terminated, truncated, success, ${behaviours.join(', ')},
        CASE WHEN length = 0 THEN 'dropped' WHEN segment < 0 THEN 'archive' ELSE 'segment' END AS body,
        abs(segment) AS segment, offset, length
      FROM ${schema}.episodes`;
  },
  components: (schema) =>
    `SELECT ${WHOSE}, part.key AS component, part.value AS paid
      FROM ${schema}.episodes AS one, json_each(one.components) AS part`,
  tools: (schema, version) =>
    `SELECT ${WHOSE}, part.key AS tool, part.value ->> '$.calls' AS calls, part.value ->> '$.failed' AS failed,
        part.value ->> '$.ms' AS ms
      FROM ${fromMore(schema, version)}, json_each(one.more, '$.tools.byName') AS part`,
  agents: (schema, version) =>
    `SELECT ${WHOSE}, part.key AS agent, part.value AS reward
      FROM ${fromMore(schema, version)}, json_each(one.more, '$.agentRewards') AS part`,
  observations: (schema) => {
    const texts = OBSERVATION_FUNCTIONS.map(
      (name) => `${name}('${schema}', one.segment, one.offset, one.length, one.sequence) AS ${name}`,
    );
    return `SELECT ${WHOSE}, ${texts.join(', ')} FROM ${schema}.episodes AS one`;
  },
  // What an attempt did before a later one began again there is left out, as the charts do.
  iterations: (schema) =>
    `WITH ${COUNTING.starts(schema)}
      SELECT ${jsonColumns(
        'metrics',
        METRICS.map(({ column, field }) => [column, field]),
      )}
      FROM ${schema}.iterations AS one
      WHERE ${COUNTING.condition}`,
  evaluations: (schema) =>
    `SELECT iteration, mode, ${jsonColumns('evaluation', [
      ['policy_version', 'policyVersion'],
      ['episodes', 'episodes'],
      ['success', 'success'],
      ['by_family', 'byFamily'],
    ])} FROM ${schema}.evaluations`,
  evaluations_by_family: (schema) =>
    `SELECT iteration, mode, evaluation ->> '$.policyVersion' AS policy_version, one.key AS family, one.value AS success
      FROM ${schema}.evaluations, json_each(evaluation, '$.byFamily') AS one`,
  events: (schema) =>
    `SELECT id, ${jsonColumns('event', [
      ['time', 'time'],
      ['level', 'level'],
      ['kind', 'kind'],
      ['subject', 'subject'],
      ['message', 'message'],
      ['episodes', 'episodes'],
      ['filter', 'filter'],
      ['who', 'who'],
    ])}, ${isoTime("(event ->> '$.time')")} AS at FROM ${schema}.events`,
  knob_changes: (schema) =>
    `SELECT id, ${jsonColumns('change', [
      ['time', 'time'],
      ['who', 'who'],
      ['knob', 'knob'],
      ['old_value', 'from'],
      ['new_value', 'to'],
      ['iteration', 'iteration'],
      ['minibatch', 'minibatch'],
      ['undo', 'undo'],
    ])}, ${isoTime("(change ->> '$.time')")} AS at FROM ${schema}.knob_changes`,
};

/** A run as queries see it: a schema of the connection, and the id that its rows carry. */
export interface ViewedRun {
  readonly schema: string;
  readonly id: string;
  /** Of its schema (migrations.ts). */
  readonly version: number;
}

/**
 * Statements that make the documented views, all temporary. The first run's have the plain names; another one's have its
 * schema's name and `_` before them; `all_…` are the rows of every run. Each has a first column `run`.
 */
export function viewStatements(runs: readonly ViewedRun[]): string[] {
  return VIEW_NAMES.flatMap((name) => {
    const named = runs.map(({ schema, id, version }) => ({
      view: schema === 'main' ? name : `${schema}_${name}`,
      body: `SELECT ${quoteText(id)} AS run, * FROM (${VIEWS[name](schema, version)})`,
    }));
    const all = named.map(({ view }) => `SELECT * FROM temp.${view}`).join(' UNION ALL ');
    return [
      ...named.map(({ view, body }) => `CREATE TEMP VIEW ${view} AS ${body}`),
      `CREATE TEMP VIEW all_${name} AS ${all}`,
    ];
  });
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
