import type Database from 'better-sqlite3';
import type { SqlValue } from '../episode-row.ts';
import { decodeBlock } from './block.ts';
import { BLOCK_ROWS, BlockBuilder } from './block-builder.ts';
import { blockCellsSql } from './episode-cells.ts';

/** What selects the rows that are in no block yet, from a row number on, in the order in which they came. */
export const SELECT_TAIL = `
  SELECT ${blockCellsSql(2)} FROM episode_tail JOIN episodes USING (sequence)
  WHERE arrival >= ? ORDER BY arrival`;

/**
 * Keeps `episode_blocks` and `episode_tail` at what `episodes` holds. Rows are numbered as they come (`arrival`): the first
 * `blockRows` make the first block, and so on; the tail names the episodes of the rows that do not fill a block yet.
 * Nothing is committed here: callers hold the transaction.
 */
export class BlockWriter {
  readonly #database: Database.Database;
  readonly #addToTail: Database.Statement<[number, SqlValue]>;
  readonly #clearTail: Database.Statement<[]>;
  readonly #addBlock: Database.Statement<[number, number, Buffer]>;
  /** The rows of the tail; null until they have been read. */
  #builder: BlockBuilder | null = null;
  /** Number of the builder's first row. */
  #start = 0;

  readonly #blockRows: number;

  constructor(database: Database.Database, blockRows: number = BLOCK_ROWS) {
    this.#database = database;
    this.#blockRows = blockRows;
    this.#addToTail = database.prepare('INSERT INTO episode_tail (arrival, sequence) VALUES (?, ?)');
    this.#clearTail = database.prepare('DELETE FROM episode_tail');
    this.#addBlock = database.prepare('INSERT INTO episode_blocks (start, rows, data) VALUES (?, ?, ?)');
  }

  /** A row that was added to `episodes`, its values in the order of EPISODE_COLUMNS. */
  add(row: readonly SqlValue[]): void {
    const builder = this.#opened();
    const [sequence = null] = row;
    this.#addToTail.run(this.#start + builder.rows, sequence);
    builder.add(row);
    if (builder.rows < this.#blockRows) return;
    this.#addBlock.run(this.#start, builder.rows, builder.encode());
    this.#clearTail.run();
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
    const blocks = this.#database
      .prepare<[], number>('SELECT start + rows FROM episode_blocks ORDER BY start DESC LIMIT 1')
      .pluck();
    this.#start = blocks.get() ?? 0;
    // The row of this transaction that is to be added is not in the tail yet.
    for (const row of this.#database.prepare<[number], SqlValue[]>(SELECT_TAIL).raw().all(0))
      builder.add(row);
    this.#builder = builder;
    return builder;
  }
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
  for (const sequence of database
    .prepare<[], number>('SELECT sequence FROM episode_tail')
    .pluck()
    .iterate()) {
    sequences.add(sequence);
    rows += 1;
  }
  const known = database.prepare<[], number>('SELECT sequence FROM episodes').pluck().all();
  const missing = known.filter((sequence) => !sequences.has(sequence)).length;
  if (missing === 0 && rows === known.length) return null;
  return `its columns hold ${rows} rows for ${known.length} episodes, of which they lack ${missing}`;
}

/** Makes the blocks anew where they do not hold as many rows as there are episodes: after a migration, or a loss of rows. */
export function healBlocks(database: Database.Database): void {
  const [rows, episodes] = [
    'SELECT coalesce(sum(rows), 0) + (SELECT count(*) FROM episode_tail) FROM episode_blocks',
    'SELECT count(*) FROM episodes',
  ].map((sql) => database.prepare<[], number>(sql).pluck().get());
  if (rows !== episodes) rebuildBlocks(database);
}

/** Makes the blocks anew from `episodes`. */
export function rebuildBlocks(database: Database.Database): void {
  database
    .transaction(() => {
      database.exec('DELETE FROM episode_blocks; DELETE FROM episode_tail');
      const writer = new BlockWriter(database);
      const episodes = database
        .prepare<[number, number], SqlValue[]>(
          `SELECT ${blockCellsSql(2)} FROM episodes WHERE sequence > ? ORDER BY sequence LIMIT ?`,
        )
        .raw();
      // In portions: the connection is busy while it iterates, and blocks are written in between.
      for (let after = -1; ; ) {
        const portion = episodes.all(after, BLOCK_ROWS);
        for (const row of portion) writer.add(row);
        const last = portion.at(-1)?.[0];
        if (typeof last !== 'number') break;
        after = last;
      }
    })
    .immediate();
}
