import { BEHAVIOUR_NAMES } from '../domain/failure.ts';
import { iterationMetricsSchema } from '../domain/run.ts';
import { keysOf } from '../domain/table.ts';
import { behaviourMask, EPISODE_COLUMNS, episodeColumnSql } from './episode-row.ts';

/** Columns of the index that a view shows under another form or not at all. */
const NOT_AS_STORED: ReadonlySet<string> = new Set([
  'started_at',
  'terminated',
  'truncated',
  'success',
  'behaviours',
]);

/** `heldOutSuccess` → `held_out_success`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
}

/** Columns of the view `iterations`, and the field of the metrics that each holds. */
export const ITERATION_FIELDS = keysOf(iterationMetricsSchema.shape).map((field) => ({
  field,
  column: snakeCase(field),
}));

/** ISO 8601 in UTC, to the millisecond, of a column of ms since the epoch. */
function isoTime(column: string): string {
  return `strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch')`;
}

function jsonColumns(source: string, columns: readonly (readonly [column: string, field: string])[]): string {
  return columns.map(([column, field]) => `${source} ->> '$.${field}' AS ${column}`).join(', ');
}

/** What each documented view selects, of the tables of one schema; docs/SQL.md explains every column. */
const VIEWS: Readonly<Record<string, (schema: string, version: number) => string>> = {
  episodes: (schema, version) => {
    const plain = EPISODE_COLUMNS.filter((column) => !NOT_AS_STORED.has(column)).map((column) =>
      episodeColumnSql(column, version),
    );
    const behaviours = BEHAVIOUR_NAMES.map(
      (name) => `(behaviours & ${behaviourMask([name])}) <> 0 AS ${name}`,
    );
    return `SELECT 'e' || sequence AS id, ${plain.join(', ')}, started_at, ${isoTime('started_at')} AS started,
        terminated, truncated, success, ${behaviours.join(', ')},
        CASE WHEN length = 0 THEN 'dropped' WHEN segment < 0 THEN 'archive' ELSE 'segment' END AS body,
        abs(segment) AS segment, offset, length
      FROM ${schema}.episodes`;
  },
  // What an attempt did before a later one began again there is left out, as the charts do.
  iterations: (schema) =>
    `WITH starts AS (SELECT attempt, min(iteration) AS first FROM ${schema}.iterations GROUP BY attempt)
      SELECT ${jsonColumns(
        'metrics',
        ITERATION_FIELDS.map(({ column, field }) => [column, field]),
      )}
      FROM ${schema}.iterations AS one
      WHERE NOT EXISTS (SELECT 1 FROM starts WHERE starts.attempt > one.attempt AND starts.first <= one.iteration)`,
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

/** The documented views, by name. */
export const VIEW_NAMES = keysOf(VIEWS);

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
    const select = VIEWS[name] ?? (() => '');
    const named = runs.map(({ schema, id, version }) => ({
      view: schema === 'main' ? name : `${schema}_${name}`,
      body: `SELECT ${quoteText(id)} AS run, * FROM (${select(schema, version)})`,
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
