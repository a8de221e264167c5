import type { SqlValue } from '../episode-row.ts';
import type { Codes } from './bits.ts';
import type { Block, Columns } from './block.ts';
import { type Cell, Column, type ColumnKind } from './column.ts';
import { BLOCK_COLUMN_NAMES, cellIn, columnKind, componentColumn, componentsIn } from './episode-cells.ts';

/**
 * Rows of a block of the tail. The last of them is made anew when rows come: it must be small. But of each block the last few
 * filters keep what matched, and the collector looks through all of that.
 */
const TAIL_ROWS = 1024;

/**
 * Blocks of the newest rows, made as rows come. Of the unfinished one only those columns are made that are asked for: a
 * question needs four of thirty, and each finds other rows.
 */
export class RowTail {
  readonly #blockRows: number;
  readonly #full: Block[] = [];
  #rows: (readonly SqlValue[])[] = [];
  /** The block of the rows above; null when rows came since. */
  #last: Block | null = null;

  constructor(blockRows: number = TAIL_ROWS) {
    this.#blockRows = blockRows;
  }

  get rows(): number {
    return this.#full.length * this.#blockRows + this.#rows.length;
  }

  /** Adds a row of `episodes`, its values in the order of EPISODE_COLUMNS. */
  add(row: readonly SqlValue[]): void {
    this.#rows.push(row);
    this.#last = null;
    if (this.#rows.length < this.#blockRows) return;
    // All of them: rows take ten times the memory of columns.
    const columns = new RowColumns(this.#rows);
    const made = [...columns.keys()].flatMap((name) => {
      const column = columns.get(name);
      return column === undefined ? [] : [[name, column] as const];
    });
    this.#full.push({ rows: this.#blockRows, columns: new Map(made), derived: new Map() });
    this.#rows = [];
  }

  blocks(): readonly Block[] {
    if (this.#rows.length === 0) return this.#full;
    this.#last ??= {
      rows: this.#rows.length,
      columns: new RowColumns([...this.#rows]),
      derived: new Map(),
    };
    return [...this.#full, this.#last];
  }
}

/** The columns of a few rows, each made when it is first asked for. */
class RowColumns implements Columns {
  readonly #rows: readonly (readonly SqlValue[])[];
  readonly #made = new Map<string, Column | undefined>();
  #components: readonly ReadonlyMap<string, number>[] | null = null;

  constructor(rows: readonly (readonly SqlValue[])[]) {
    this.#rows = rows;
  }

  get(name: string): Column | undefined {
    if (!this.#made.has(name)) this.#made.set(name, this.#make(name));
    return this.#made.get(name);
  }

  keys(): MapIterator<string> {
    const components = this.#paid().flatMap((paid) => [...paid.keys()]);
    return new Set([...BLOCK_COLUMN_NAMES, ...components]).keys();
  }

  #make(name: string): Column | undefined {
    const kind = columnKind(name);
    if (kind !== null)
      return columnOf(
        kind,
        this.#rows.map((row) => cellIn(row, name)),
      );
    const cells = this.#paid().map((paid) => paid.get(name) ?? null);
    return cells.every((cell) => cell === null) ? undefined : columnOf('number', cells);
  }

  /** What components paid, by column. */
  #paid(): readonly ReadonlyMap<string, number>[] {
    this.#components ??= this.#rows.map((row) => {
      const paid = Object.entries(componentsIn(row));
      return new Map(paid.map(([name, amount]) => [componentColumn(name), amount]));
    });
    return this.#components;
  }
}

function columnOf(kind: ColumnKind, cells: readonly Cell[]): Column {
  const distinct = new Set(cells);
  const hasMissing = distinct.delete(null);
  const numbers = Float64Array.from([...distinct].filter((cell) => typeof cell === 'number')).toSorted();
  const texts = [...distinct].filter((cell) => typeof cell === 'string').toSorted();
  return new Column({
    kind,
    codes:
      distinct.size + Number(hasMissing) > 1 ? codesOf(cells, kind === 'number' ? numbers : texts) : null,
    distinct: distinct.size,
    hasMissing,
    numbers: () => numbers,
    texts: () => texts,
  });
}

function codesOf(cells: readonly Cell[], values: ArrayLike<Cell>): Codes {
  const codes = new Map<Cell, number>();
  for (let code = 0; code < values.length; code += 1) codes.set(values[code] ?? null, code);
  const ofRows = codes.size < 256 ? new Uint8Array(cells.length) : new Uint16Array(cells.length);
  for (let row = 0; row < cells.length; row += 1)
    ofRows[row] = codes.get(cells[row] ?? null) ?? values.length;
  return ofRows;
}
