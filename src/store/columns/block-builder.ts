import type { SqlValue } from '../episode-row.ts';
import { encodeBlock } from './block.ts';
import { ColumnBuilder } from './column-builder.ts';
import { BLOCK_CELLS, componentColumn, componentsIn } from './episode-cells.ts';

/** Rows of a stored block. */
export const BLOCK_ROWS = 16_384;

/** Collects rows and makes a block of them. */
export class BlockBuilder {
  /** Of every row, in the order of BLOCK_CELLS. */
  readonly #columns = BLOCK_CELLS.map(({ name, kind }) => new ColumnBuilder(name, kind));
  /** By reward component; a row may lack any of them. */
  readonly #components = new Map<string, ColumnBuilder>();
  #rows = 0;

  get rows(): number {
    return this.#rows;
  }

  /**
   * Adds a row of `episodes`, its values in the order of EPISODE_COLUMNS. `components`: what they say of the reward's
   * components, where that is known without parsing it.
   */
  add(row: readonly SqlValue[], components: Readonly<Record<string, number>> = componentsIn(row)): void {
    for (let column = 0; column < BLOCK_CELLS.length; column += 1) {
      this.#columns[column]?.add(row[BLOCK_CELLS[column]?.index ?? -1] ?? null);
    }
    for (const name in components) this.#component(name).add(components[name] ?? null);
    this.#rows += 1;
  }

  /** The block of all rows that were added. */
  encode(): Buffer {
    for (const column of this.#components.values()) column.fill(this.#rows);
    return encodeBlock(this.#rows, [...this.#columns, ...this.#components.values()]);
  }

  /** Its column, up to the row that is added. */
  #component(name: string): ColumnBuilder {
    let column = this.#components.get(name);
    if (column === undefined) {
      column = new ColumnBuilder(componentColumn(name), 'number');
      this.#components.set(name, column);
    }
    column.fill(this.#rows);
    return column;
  }
}
