import type { SqlValue } from '../episode-row.ts';
import { encodeBlock } from './block.ts';
import type { Cell, ColumnKind } from './column.ts';
import { ColumnBuilder } from './column-builder.ts';
import { eachCell } from './episode-cells.ts';

/** Rows of a stored block. */
export const BLOCK_ROWS = 16_384;

/** Collects rows and makes a block of them. */
export class BlockBuilder {
  readonly #columns = new Map<string, ColumnBuilder>();
  #rows = 0;

  get rows(): number {
    return this.#rows;
  }

  /** Adds a row of `episodes`, its values in the order of EPISODE_COLUMNS. */
  add(row: readonly SqlValue[]): void {
    eachCell(row, this.#put);
    this.#rows += 1;
  }

  /** The block of all rows that were added. */
  encode(): Buffer {
    for (const column of this.#columns.values()) this.#fill(column);
    return encodeBlock(this.#rows, [...this.#columns.values()]);
  }

  readonly #put = (name: string, kind: ColumnKind, cell: Cell): void => {
    let column = this.#columns.get(name);
    if (column === undefined) {
      column = new ColumnBuilder(name, kind);
      this.#columns.set(name, column);
    }
    this.#fill(column);
    column.add(cell);
  };

  /** Rows since the last one that has a value in the column: only components are not in every row. */
  #fill(column: ColumnBuilder): void {
    while (column.length < this.#rows) column.add(null);
  }
}
