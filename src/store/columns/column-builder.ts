import type { Cell, ColumnKind } from './column.ts';

/** Collects the cells of a column, row after row: each distinct one once. */
export class ColumnBuilder {
  readonly name: string;
  readonly kind: ColumnKind;
  readonly #places = new Map<Cell, number>();
  readonly #rows: number[] = [];

  constructor(name: string, kind: ColumnKind) {
    this.name = name;
    this.kind = kind;
  }

  /** Rows so far. */
  get length(): number {
    return this.#rows.length;
  }

  add(cell: Cell): void {
    let place = this.#places.get(cell);
    if (place === undefined) {
      place = this.#places.size;
      this.#places.set(cell, place);
    }
    this.#rows.push(place);
  }

  /** The distinct cells, null too, in the order in which they came. */
  get distinct(): readonly Cell[] {
    return [...this.#places.keys()];
  }

  /** For each row, which of the distinct cells it has. */
  get rows(): readonly number[] {
    return this.#rows;
  }
}
