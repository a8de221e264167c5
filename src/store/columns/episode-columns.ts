import type Database from 'better-sqlite3';
import type { SqlValue } from '../episode-row.ts';
import { schemaVersion } from '../migrations.ts';
import { type Block, decodeBlock } from './block.ts';
import { BLOCK_ROWS, BlockBuilder } from './block-builder.ts';
import { endSql, tailSql } from './block-writer.ts';
import { blockCellsSql } from './episode-cells.ts';
import { RowTail } from './row-tail.ts';

/**
 * The columns of a run's episodes, in memory. Stored blocks are read when first needed, about 50 MB for a million episodes;
 * of the rows that fill none yet, blocks are made here, and kept up with what the run adds. Blocks never change.
 *
 * Where the index has no blocks (it is of an older version), or not those of all episodes, or damaged ones, they are made
 * here from the rows of `episodes`: the answers are the same, the first one takes seconds at a million.
 */
export class EpisodeColumns {
  readonly #database: Database.Database;
  #full: Block[] = [];
  #fullRows = 0;
  #tail: RowTail | BlockList = new RowTail();
  /** Greatest episode number here. */
  #lastSequence = -1;
  /** The stored blocks do not serve: `data_version` of the rows that blocks were made from. Null: they do. */
  #madeAt: unknown = null;

  /** Prepared once: preparing them would take longer than running them. Null while the index is of version 1. */
  #statements: Statements | null = null;
  /** Of the schema that they are for. */
  #version = 1;
  readonly #selectLast: Database.Statement<[], number | null>;
  #generation = 0;

  constructor(database: Database.Database) {
    this.#database = database;
    this.#selectLast = database.prepare<[], number | null>('SELECT max(sequence) FROM episodes').pluck();
  }

  /** Another number says that rows may have been dropped: what was read of them is not to be kept. */
  get generation(): number {
    return this.#generation;
  }

  /** All blocks, as of now. Call it in the transaction in which the rows are read. */
  blocks(): readonly Block[] {
    const last = this.#selectLast.get();
    const served = this.#madeAt === null && this.#follow() && this.#lastSequence >= (last ?? -1);
    if (!served) this.#makeFromRows();
    return [...this.#full, ...this.#tail.blocks()];
  }

  /**
   * A row that a block has is not there. First the blocks are read again, since rows were dropped meanwhile; when that did
   * not help, `trusting` is false and they are made from the rows.
   */
  reload(trusting: boolean): void {
    this.#clear();
    this.#madeAt = trusting ? null : Number.NaN;
  }

  /** Reads what the index has more than this; false when that cannot be. */
  #follow(): boolean {
    const version = schemaVersion(this.#database);
    if (version < 2) return false;
    // The writer brings an index to the present while it is read: rows are numbered anew then.
    if (version !== this.#version) {
      this.#clear();
      this.#statements = null;
      this.#version = version;
    }
    this.#statements ??= prepareStatements(this.#database, version);
    const { selectEnd, selectBlocks, selectTail } = this.#statements;
    const end = selectEnd.get();
    // Rows were dropped, and all blocks made anew.
    if ((end ?? 0) < this.#rows) this.#clear();
    try {
      this.#followBlocks(selectBlocks);
    } catch {
      // Damaged: fsck says so, and the rows can still be read.
      return false;
    }
    for (const row of selectTail.all(this.#rows)) this.#add(row);
    return this.#rows === (end ?? 0);
  }

  get #rows(): number {
    return this.#fullRows + this.#tail.rows;
  }

  #followBlocks(selectBlocks: Statements['selectBlocks']): void {
    for (const [start, data] of selectBlocks.iterate(this.#fullRows)) {
      if (start !== this.#fullRows) throw new RangeError(`no block begins at row ${this.#fullRows}`);
      const block = decodeBlock(data);
      this.#full.push(block);
      this.#fullRows += block.rows;
      // The tail was its first rows.
      this.#tail = new RowTail();
      const numbers = block.columns.get('sequence')?.numbers;
      this.#lastSequence = Math.max(this.#lastSequence, numbers?.[numbers.length - 1] ?? -1);
    }
  }

  #makeFromRows(): void {
    const version: unknown = this.#database.pragma('data_version', { simple: true });
    if (version === this.#madeAt) return;
    this.#clear();
    this.#madeAt = version;
    this.#tail = new BlockList();
    const rows = this.#database
      .prepare<[], SqlValue[]>(`SELECT ${blockCellsSql(schemaVersion(this.#database))} FROM episodes`)
      .raw()
      .iterate();
    for (const row of rows) this.#add(row);
  }

  #add(row: readonly SqlValue[]): void {
    this.#tail.add(row);
    // Its number is the first of a row's values.
    if (typeof row[0] === 'number') this.#lastSequence = Math.max(this.#lastSequence, row[0]);
  }

  #clear(): void {
    this.#full = [];
    this.#fullRows = 0;
    this.#tail = new RowTail();
    this.#lastSequence = -1;
    this.#generation += 1;
  }
}

interface Statements {
  /** Number of the row after the last one. */
  readonly selectEnd: Database.Statement<[], number>;
  /** Blocks from a row number on. */
  readonly selectBlocks: Database.Statement<[number], [start: number, data: Buffer]>;
  /** Rows of the tail from a row number on. */
  readonly selectTail: Database.Statement<[number], SqlValue[]>;
}

function prepareStatements(database: Database.Database, version: number): Statements {
  return {
    selectEnd: database.prepare<[], number>(endSql(version)).pluck(),
    selectBlocks: database
      .prepare<[number], [start: number, data: Buffer]>(
        'SELECT start, data FROM episode_blocks WHERE start >= ? ORDER BY start',
      )
      .raw(),
    selectTail: database.prepare<[number], SqlValue[]>(tailSql(version)).raw(),
  };
}

/** Blocks like those that are stored, made of any number of rows. */
class BlockList {
  readonly #blocks: Block[] = [];
  #builder = new BlockBuilder();
  /** The block of the builder's rows; null when rows came since. */
  #last: Block | null = null;

  get rows(): number {
    return this.#blocks.length * BLOCK_ROWS + this.#builder.rows;
  }

  add(row: readonly SqlValue[]): void {
    this.#builder.add(row);
    this.#last = null;
    if (this.#builder.rows < BLOCK_ROWS) return;
    this.#blocks.push(decodeBlock(this.#builder.encode()));
    this.#builder = new BlockBuilder();
  }

  blocks(): readonly Block[] {
    if (this.#builder.rows === 0) return this.#blocks;
    this.#last ??= decodeBlock(this.#builder.encode());
    return [...this.#blocks, this.#last];
  }
}
