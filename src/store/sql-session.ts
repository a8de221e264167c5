import Database from 'better-sqlite3';
import { errorText, LabError, systemErrorCode } from '../domain/error.ts';
import { nearestNames } from '../domain/nearest.ts';
import { openDatabaseReadOnly } from './database.ts';
import { addObservationFunctions } from './sql-observations.ts';
import { VIEW_NAMES } from './sql-view-names.ts';
import { viewStatements } from './sql-views.ts';

/** A value of a row: blobs are given as `x` and hexadecimal digits. */
export type SqlCell = string | number | null;

/** What a query gave. `truncated`: there was more than the limit. */
export interface SqlRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlCell[])[];
  readonly truncated: boolean;
}

/** An index to look into. */
export interface SqlRun {
  readonly id: string;
  readonly database: string;
}

/** Opening words of statements that only read. */
const READING = /^(?:select|with|values|explain)\b/iu;
const LEADING_COMMENTS = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/u;

/**
 * Runs one query over the documented views of a run (src/store/sql-views.ts) and of others beside it, which are attached as
 * `b`, `c`, …. Nothing can be written: the files are opened read-only, and statements that are no query are refused. Throws
 * `sql-invalid`, or what `openDatabaseReadOnly` throws.
 */
export function runSql(
  runs: readonly [SqlRun, ...SqlRun[]],
  sql: string,
  options: { readonly limit: number },
): SqlRows {
  const statement = sql.replace(LEADING_COMMENTS, '');
  if (!READING.test(statement)) throw notAQuery(/^\w+/u.exec(statement)?.[0] ?? statement.slice(0, 20));
  const database = openDatabaseReadOnly(runs[0].database);
  try {
    // The sort of a large query would otherwise make files.
    database.pragma('temp_store = MEMORY');
    for (const [index, run] of runs.entries()) if (index > 0) attach(database, run, schemaName(index));
    const viewed = runs.map(({ id }, index) => {
      const schema = schemaName(index);
      return { schema, id, version: Number(database.pragma(`${schema}.user_version`, { simple: true })) };
    });
    addObservationFunctions(database, new Map(runs.map((run, index) => [schemaName(index), run])));
    for (const view of viewStatements(viewed)) database.exec(view);
    database.pragma('query_only = ON');
    return query(database, statement, options.limit);
  } finally {
    database.close();
  }
}

/** `main` is the first run, then `b`, `c`, …. */
export function schemaName(index: number): string {
  return index === 0 ? 'main' : String.fromCodePoint(97 + index);
}

/** Most runs in one query: SQLite attaches ten databases. */
export const MOST_SQL_RUNS = 10;

function attach(database: Database.Database, run: SqlRun, name: string): void {
  // Says what is wrong with a file that is missing, older or newer, in the words used everywhere; SQLite would make one.
  openDatabaseReadOnly(run.database).close();
  database.prepare('ATTACH ? AS ?').run(run.database, name);
}

function query(database: Database.Database, sql: string, limit: number): SqlRows {
  try {
    const statement = database.prepare<[], unknown[]>(sql);
    if (!statement.reader || !statement.readonly) throw notAQuery('this statement, which writes,');
    const columns = statement.columns().map(({ name }) => name);
    const rows: SqlCell[][] = [];
    for (const row of statement.raw().iterate()) {
      if (rows.length === limit) return { columns, rows, truncated: true };
      rows.push(row.map(toCell));
    }
    return { columns, rows, truncated: false };
  } catch (thrown) {
    throw thrown instanceof LabError ? thrown : refused(thrown);
  }
}

function toCell(value: unknown): SqlCell {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  return value instanceof Uint8Array ? `x${Buffer.from(value).toString('hex')}` : JSON.stringify(value);
}

function notAQuery(what: string): LabError {
  return new LabError('sql-invalid', {
    message: `${what} is not a query: runs are opened to read, and take SELECT, WITH, VALUES and EXPLAIN`,
    hint: 'to change what a run has, use the other commands; to work on a copy, copy lab.db while the run is not live',
  });
}

function refused(thrown: unknown): LabError {
  const text = errorText(thrown);
  const missing = /^no such table: (\S+)/u.exec(text)?.[1];
  const like = missing === undefined ? [] : nearestNames(missing, VIEW_NAMES);
  const meant = like.length > 0 ? `; did you mean ${like.join(' or ')}?` : '';
  const isLock = systemErrorCode(thrown)?.startsWith('SQLITE_BUSY') === true;
  return new LabError('sql-invalid', {
    message: `SQLite refused the query: ${text}${meant}`,
    hint: isLock
      ? 'another process holds the index: try again'
      : `views: ${VIEW_NAMES.join(', ')}; docs/SQL.md explains their columns`,
    cause: thrown,
  });
}
