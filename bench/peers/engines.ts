import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import Database from 'better-sqlite3';
import type { Filter } from '../../src/store/filter.ts';
import { DUCKDB, filterToSql, orderToSql, SQLITE } from './filter-sql.ts';

/** What a peer says of a filter: its first page, as numbers of episodes, and the count. */
export interface PeerAnswer {
  readonly sequences: readonly number[];
  readonly count: number;
}

/** Another engine with the same rows. */
export interface FilterPeer {
  readonly name: string;
  ask(filter: Filter, limit: number): Promise<PeerAnswer>;
  close(): void;
}

/** Columns of `episodes` that filters ask for, as the peer has them. */
const NUMBERS = [
  'sequence',
  'task_index',
  'iteration',
  'attempt',
  'worker',
  'slot',
  'policy_version',
  'steps',
  'truncated',
  'terminated',
  'success',
  'behaviours',
  'tool_calls',
  'tool_failed',
] as const;
const REALS = ['difficulty', 'started_at', 'wall_ms', 'reward'] as const;
const TEXTS = [
  'env',
  'family',
  'split',
  'phase',
  'mode',
  'host',
  'failure',
  'failure_detail',
  'failure_stage',
  'trust',
  'tags',
] as const;
const COMPONENTS = ['step', 'progress', 'goal', 'tool_error'] as const;

/** SQLite itself: the rows where they are, scanned. */
export function sqlitePeer(database: string, now: number): FilterPeer {
  const opened = new Database(database, { readonly: true });
  return {
    name: 'SQLite scan',
    ask: async ({ where, sort }, limit) => {
      const { sql, parameters } = filterToSql(where, { dialect: SQLITE, now });
      const order = orderToSql(sort, SQLITE);
      const sequences = opened
        .prepare<unknown[], number>(
          `SELECT sequence FROM episodes WHERE ${sql} ORDER BY ${order} LIMIT ${limit}`,
        )
        .pluck()
        .all(...parameters);
      const count = opened
        .prepare<unknown[], number>(`SELECT count(*) FROM episodes WHERE ${sql}`)
        .pluck()
        .get(...parameters);
      return await Promise.resolve({ sequences, count: count ?? 0 });
    },
    close: () => opened.close(),
  };
}

/** DuckDB with a table of its own, in its own file, made of the same rows; each component is a column. */
export async function duckdbPeer(database: string, directory: string, now: number): Promise<FilterPeer> {
  const instance = await DuckDBInstance.create(join(directory, 'episodes.duckdb'));
  const connection = await instance.connect();
  const columns = [
    ...NUMBERS.map((name) => `${name} BIGINT`),
    ...REALS.map((name) => `${name} DOUBLE`),
    ...COMPONENTS.map((name) => `part_${name} DOUBLE`),
    ...TEXTS.map((name) => `${name} VARCHAR`),
  ];
  await connection.run(`CREATE TABLE episodes (${columns.join(', ')})`);
  const appender = await connection.createAppender('episodes');
  const source = new Database(database, { readonly: true });
  const components = COMPONENTS.map((name) => SQLITE.component(name));
  const rows = source
    .prepare<[], (string | number | null)[]>(
      `SELECT ${[...NUMBERS, ...REALS, ...components, ...TEXTS].join(', ')} FROM episodes`,
    )
    .raw();
  for (const row of rows.iterate()) {
    for (const [index, value] of row.entries()) {
      if (value === null) appender.appendNull();
      else if (typeof value === 'string') appender.appendVarchar(value);
      else if (index < NUMBERS.length) appender.appendBigInt(BigInt(value));
      else appender.appendDouble(value);
    }
    appender.endRow();
  }
  appender.closeSync();
  source.close();
  await connection.run('CHECKPOINT');
  return {
    name: 'DuckDB',
    ask: async ({ where, sort }, limit) => {
      const { sql, parameters } = filterToSql(where, { dialect: DUCKDB, now });
      const order = orderToSql(sort, DUCKDB);
      const page = await connection.runAndReadAll(
        `SELECT sequence FROM episodes WHERE ${sql} ORDER BY ${order} LIMIT ${limit}`,
        [...parameters],
      );
      const counted = await connection.runAndReadAll(`SELECT count(*) FROM episodes WHERE ${sql}`, [
        ...parameters,
      ]);
      return {
        sequences: page.getRows().map(([sequence]) => Number(sequence)),
        count: Number(counted.getRows()[0]?.[0]),
      };
    },
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}
