import type { Cell, ColumnKind } from './column.ts';

/** Cells that there is room for at first. */
const INITIAL_CELLS = 256;
/** Whole numbers that lie no further apart are counted; others are sorted. */
const MOST_COUNTED = 2 ** 17;

/** For each row which of the distinct cells it has, those in any order. */
interface Places {
  readonly distinct: readonly Cell[];
  readonly rows: ArrayLike<number>;
}

/**
 * Collects the cells of a column, row after row. Of thirty columns each row adds a cell to every one, so a number is only put
 * down; which of them are the same is found out for a whole block at once.
 */
export class ColumnBuilder {
  readonly name: string;
  readonly kind: ColumnKind;
  /** Numbers, NaN where there is none; of texts, their places among the distinct ones. */
  #cells = new Float64Array(INITIAL_CELLS);
  #length = 0;
  readonly #texts = new Map<Cell, number>();
  /** The text that was added last, and its place. */
  #newest: Cell = null;
  #newestPlace = -1;
  #places: Places | null = null;

  constructor(name: string, kind: ColumnKind) {
    this.name = name;
    this.kind = kind;
  }

  /** Rows so far. */
  get length(): number {
    return this.#length;
  }

  add(cell: Cell): void {
    if (this.#length === this.#cells.length) this.#grow(2 * this.#length);
    this.#cells[this.#length++] =
      this.kind === 'text' ? this.#placeOf(cell) : typeof cell === 'number' ? cell : Number.NaN;
    this.#places = null;
  }

  /** Adds cells without a value until there are so many rows. */
  fill(rows: number): void {
    while (this.#length < rows) this.add(null);
  }

  /** The distinct cells, null too. */
  get distinct(): readonly Cell[] {
    return this.#placed().distinct;
  }

  /** For each row, which of the distinct cells it has. */
  get rows(): ArrayLike<number> {
    return this.#placed().rows;
  }

  #placed(): Places {
    const cells = this.#cells.subarray(0, this.#length);
    this.#places ??=
      this.kind === 'text' ? { distinct: [...this.#texts.keys()], rows: cells } : placesOf(cells);
    return this.#places;
  }

  #placeOf(text: Cell): number {
    if (text === this.#newest && this.#newestPlace >= 0) return this.#newestPlace;
    let place = this.#texts.get(text);
    if (place === undefined) {
      place = this.#texts.size;
      this.#texts.set(text, place);
    }
    this.#newest = text;
    this.#newestPlace = place;
    return place;
  }

  #grow(room: number): void {
    const before = this.#cells;
    this.#cells = new Float64Array(room);
    this.#cells.set(before);
  }
}

/** The distinct ones of numbers, NaN for none. */
function placesOf(numbers: Float64Array): Places {
  let [least, most, missing, isWhole] = [Infinity, -Infinity, false, true];
  for (let row = 0; row < numbers.length; row += 1) {
    const number = numbers[row] ?? 0;
    if (number !== number) {
      missing = true;
      continue;
    }
    if (number < least) least = number;
    if (number > most) most = number;
    if (!Number.isSafeInteger(number)) isWhole = false;
  }
  const ascending = isWhole && most - least < MOST_COUNTED ? counted(numbers, least, most) : sorted(numbers);
  return missing ? { ...ascending, distinct: [...ascending.distinct, null] } : ascending;
}

/** Of whole numbers from `least` to `most`. */
function counted(numbers: Float64Array, least: number, most: number): Places {
  const places = new Int32Array(Math.max(0, most - least + 1));
  for (let row = 0; row < numbers.length; row += 1) {
    const number = numbers[row] ?? 0;
    if (number === number) places[number - least] = 1;
  }
  const distinct: number[] = [];
  for (let at = 0; at < places.length; at += 1) {
    if (places[at] === 0) continue;
    places[at] = distinct.length;
    distinct.push(at + least);
  }
  const rows = new Uint32Array(numbers.length);
  for (let row = 0; row < numbers.length; row += 1) {
    const number = numbers[row] ?? 0;
    rows[row] = number === number ? (places[number - least] ?? 0) : distinct.length;
  }
  return { distinct, rows };
}

function sorted(numbers: Float64Array): Places {
  // NaN comes last.
  const ascending = numbers.toSorted();
  let count = 0;
  for (const number of ascending) {
    if (number !== number) break;
    if (count === 0 || number !== ascending[count - 1]) ascending[count++] = number;
  }
  const rows = new Uint32Array(numbers.length);
  for (let row = 0; row < numbers.length; row += 1) {
    const number = numbers[row] ?? 0;
    rows[row] = number === number ? placeIn(ascending, count, number) : count;
  }
  return { distinct: [...ascending.subarray(0, count)], rows };
}

/** Where a number stands among the first `count` ascending ones. */
function placeIn(ascending: Float64Array, count: number, number: number): number {
  let [low, high] = [0, count - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
