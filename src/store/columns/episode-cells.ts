import { isRecord } from '../../domain/table.ts';
import { EPISODE_COLUMNS, type EpisodeColumn, episodeColumnSql, type SqlValue } from '../episode-row.ts';
import type { Cell, ColumnKind } from './column.ts';

/** The columns of `episodes` that blocks hold: all that filters, orders and facets ask for. */
const BLOCK_COLUMNS = {
  sequence: 'number',
  env: 'text',
  family: 'text',
  split: 'text',
  task_index: 'number',
  phase: 'text',
  mode: 'text',
  iteration: 'number',
  attempt: 'number',
  difficulty: 'number',
  host: 'text',
  worker: 'number',
  slot: 'number',
  policy_version: 'number',
  steps: 'number',
  started_at: 'number',
  wall_ms: 'number',
  terminated: 'number',
  truncated: 'number',
  success: 'number',
  failure: 'text',
  failure_detail: 'text',
  failure_stage: 'text',
  trust: 'text',
  reward: 'number',
  behaviours: 'number',
  tool_calls: 'number',
  tool_failed: 'number',
  tags: 'text',
} as const satisfies Partial<Record<EpisodeColumn, ColumnKind>>;

/** A column of every block. */
export type BlockColumn = keyof typeof BLOCK_COLUMNS;

/** The column of a reward component; blocks in which no episode has it lack the column. */
export function componentColumn(component: string): string {
  return `part.${component}`;
}

/** The reward component that a column is of, or null. */
export function componentOf(column: string): string | null {
  return column.startsWith('part.') ? column.slice('part.'.length) : null;
}

/** The columns that every block has, and where a row in the order of EPISODE_COLUMNS has their cells. */
export const BLOCK_CELLS = Object.entries(BLOCK_COLUMNS).map(([name, kind]) => ({
  name,
  kind,
  index: EPISODE_COLUMNS.findIndex((column) => column === name),
}));
const BY_NAME: ReadonlyMap<string, (typeof BLOCK_CELLS)[number]> = new Map(
  BLOCK_CELLS.map((placed) => [placed.name, placed]),
);
const COMPONENTS = EPISODE_COLUMNS.indexOf('components');

/** The columns that every block has. */
export const BLOCK_COLUMN_NAMES = BLOCK_CELLS.map(({ name }) => name);

/**
 * What selects a row of `episodes` for a block, its values in the order of EPISODE_COLUMNS, from an index of that schema
 * version: what blocks do not hold, a third of its bytes, is not read.
 */
export function blockCellsSql(version: number): string {
  return EPISODE_COLUMNS.map((name) =>
    BY_NAME.has(name) || name === 'components' ? episodeColumnSql(name, version) : 'NULL',
  ).join(', ');
}

/** Of what the cells of a column are that every block has; null for one of a component. */
export function columnKind(name: string): ColumnKind | null {
  return BY_NAME.get(name)?.kind ?? null;
}

/** What a row, its values in the order of EPISODE_COLUMNS, has in a column that every block has. */
export function cellIn(row: readonly SqlValue[], name: string): Cell {
  return row[BY_NAME.get(name)?.index ?? -1] ?? null;
}

/** What the reward components of a row, its values in the order of EPISODE_COLUMNS, paid, by name. */
export function componentsIn(row: readonly SqlValue[]): Record<string, number> {
  const components: unknown = JSON.parse(String(row[COMPONENTS]));
  if (!isRecord(components)) return {};
  return Object.fromEntries(
    Object.entries(components).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
}
