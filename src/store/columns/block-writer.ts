import type Database from 'better-sqlite3';
import type { SqlValue } from '../episode-row.ts';
import { SCHEMA_VERSION } from '../migrations.ts';
import { decodeBlock } from './block.ts';
import { BLOCK_ROWS, BlockBuilder } from './block-builder.ts';
import { blockCellsSql } from './episode-cells.ts';

/** What selects the rows that are in no block yet, from a row number on, in the order in which they came. */
export function tailSql(version: number): string {
  const rows = version < 4 ? 'episode_tail JOIN episodes USING (sequence)' : 'episodes';
  return `SELECT ${blockCellsSql(version)} FROM ${rows} WHERE arrival >= ? ORDER BY arrival`;
}

/** What selects the number of the row after the last one: those of blocks and those in no block. */
export function endSql(version: number): string {
  return `SELECT max(coalesce((${BLOCKS_END}), 0),
    coalesce((SELECT max(arrival) + 1 FROM ${version < 4 ? 'episode_tail' : 'episodes'}), 0))`;
}

/**
 * Keeps `episode_blocks` at what `episodes` holds. Rows are numbered as they come (`arrival`): the first `blockRows` make the
 * first block, and so on. Nothing is committed here: callers hold the transaction.
 */
export class BlockWriter {
  readonly #database: Database.Database;
  readonly #addBlock: Database.Statement<[number, number, Buffer]>;
  /** The rows that are in no block yet; null until they have been read. */
  #builder: BlockBuilder | null = null;
  /** Number of the builder's first row. */
  #start = 0;
  /** Number of the next row: after rows were dropped, and before all are numbered anew, not that behind the builder's last. */
  #next = 0;

  readonly #blockRows: number;

  constructor(database: Database.Database, blockRows: number = BLOCK_ROWS) {
    this.#database = database;
    this.#blockRows = blockRows;
    this.#addBlock = database.prepare('INSERT INTO episode_blocks (start, rows, data) VALUES (?, ?, ?)');
  }

  /** The number that the next row is to have. */
  next(): number {
    this.#opened();
    return this.#next;
  }

  /** The row of that number was added to `episodes`: see `BlockBuilder.add`. */
  add(row: readonly SqlValue[], components: Readonly<Record<string, number>>): void {
    const builder = this.#opened();
    builder.add(row, components);
    this.#next += 1;
    if (builder.rows < this.#blockRows) return;
    this.#addBlock.run(this.#start, builder.rows, builder.encode());
    this.#start += builder.rows;
    this.#builder = new BlockBuilder();
  }

  /** The transaction was undone: what is stored is read again. */
  forget(): void {
    this.#builder = null;
  }

  #opened(): BlockBuilder {
    if (this.#builder !== null) return this.#builder;
    const builder = new BlockBuilder();
    this.#start = numberOf(this.#database, BLOCKS_END);
    this.#next = numberOf(this.#database, endSql(SCHEMA_VERSION));
    const tail = this.#database.prepare<[number], SqlValue[]>(tailSql(SCHEMA_VERSION)).raw();
    for (const row of tail.all(this.#start)) builder.add(row);
    this.#builder = builder;
    return builder;
  }
}

/** Selects the number of the row after those of all blocks; no row where there is no block. */
const BLOCKS_END = 'SELECT start + rows FROM episode_blocks ORDER BY start DESC LIMIT 1';
/** How many rows there are, and the number after the last one: the same, unless rows were dropped. */
const COUNT = 'SELECT count(*) FROM episodes';
const ROWS_END = 'SELECT coalesce(max(arrival) + 1, 0) FROM episodes';

function numberOf(database: Database.Database, sql: string): number {
  return database.prepare<[], number>(sql).pluck().get() ?? 0;
}

/** What is wrong with the blocks of an index, or null: whether they are whole, and hold each episode once. */
export function findBlockProblem(database: Database.Database): string | null {
  const sequences = new Set<number>();
  let [rows, next] = [0, 0];
  const blocks = database
    .prepare<[], { start: number; rows: number; data: Buffer }>(
      'SELECT start, rows, data FROM episode_blocks ORDER BY start',
    )
    .iterate();
  for (const stored of blocks) {
    try {
      const block = decodeBlock(stored.data);
      if (block.rows !== stored.rows || stored.start !== next) return `its columns have a gap at row ${next}`;
      for (const sequence of block.columns.get('sequence')?.numbers ?? []) sequences.add(sequence);
    } catch {
      return `its columns are damaged from row ${stored.start} on`;
    }
    rows += stored.rows;
    next = stored.start + stored.rows;
  }
  const tail = database
    .prepare<[number], number>('SELECT sequence FROM episodes WHERE arrival >= ?')
    .pluck()
    .all(next);
  if (tail.length >= BLOCK_ROWS) return `its columns end at row ${next}, ${tail.length} before the last one`;
  for (const sequence of tail) sequences.add(sequence);
  rows += tail.length;
  const known = database.prepare<[], number>('SELECT sequence FROM episodes').pluck().all();
  const missing = known.filter((sequence) => !sequences.has(sequence)).length;
  if (missing > 0 || rows !== known.length)
    return `its columns hold ${rows} rows for ${known.length} episodes, of which they lack ${missing}`;
  const end = numberOf(database, ROWS_END);
  return end === rows ? null : `its ${rows} rows are numbered up to ${end}`;
}

/** Makes the blocks anew where they are not those of the rows that there are: after a migration, or a loss of rows. */
export function healBlocks(database: Database.Database): void {
  const rows = numberOf(database, COUNT);
  const inBlocks = numberOf(database, 'SELECT coalesce(sum(rows), 0) FROM episode_blocks');
  const isWhole = inBlocks === numberOf(database, BLOCKS_END) && inBlocks <= rows;
  const isRight = isWhole && rows - inBlocks < BLOCK_ROWS && rows === numberOf(database, ROWS_END);
  if (!isRight) rebuildBlocks(database);
}

/** Numbers the rows of `episodes` anew, without gaps, and makes all blocks anew. */
export function rebuildBlocks(database: Database.Database): void {
  database
    .transaction(() => {
      database.exec('DELETE FROM episode_blocks');
      if (numberOf(database, COUNT) !== numberOf(database, ROWS_END)) renumber(database);
      const select = database
        .prepare<[number, number], SqlValue[]>(`${tailSql(SCHEMA_VERSION)} LIMIT ?`)
        .raw();
      const add = database.prepare('INSERT INTO episode_blocks (start, rows, data) VALUES (?, ?, ?)');
      for (let start = 0; ; start += BLOCK_ROWS) {
        const rows = select.all(start, BLOCK_ROWS);
        if (rows.length < BLOCK_ROWS) break;
        const builder = new BlockBuilder();
        for (const row of rows) builder.add(row);
        add.run(start, builder.rows, builder.encode());
      }
    })
    .immediate();
}

/** In ascending order: no number is given before the row that had it has another one. */
function renumber(database: Database.Database): void {
  const arrivals = database
    .prepare<[], number>('SELECT arrival FROM episodes ORDER BY arrival')
    .pluck()
    .all();
  const update = database.prepare('UPDATE episodes SET arrival = ? WHERE arrival = ?');
  for (const [row, arrival] of arrivals.entries()) if (row !== arrival) update.run(row, arrival);
}
