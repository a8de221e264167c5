/** Rows that there is room for at first. */
const INITIAL_ROWS = 256;

/**
 * Rows of whole numbers that were seen, numbered from 0, and beside each what a network computed of it alone. Rows are told
 * apart by a hash and an exact comparison. The rows whose values are still wanted lie together, at the end: they are a
 * model's input, and their values its output, without a copy.
 */
export class RowMemory {
  readonly #width: number;
  readonly #valueWidth: number;
  /** Rows after which all are forgotten. */
  readonly #limit: number;
  #rows: Int32Array;
  #values: Float32Array;
  /** 0, or 1 + the number of a row; at most half full. */
  #places: Int32Array;
  #count = 0;
  #computed = 0;

  constructor(widths: { readonly row: number; readonly value: number }, limit: number) {
    this.#width = widths.row;
    this.#valueWidth = widths.value;
    this.#limit = limit;
    this.#rows = new Int32Array(INITIAL_ROWS * widths.row);
    this.#values = new Float32Array(INITIAL_ROWS * widths.value);
    this.#places = new Int32Array(2 * INITIAL_ROWS);
  }

  /** Number of rows that have no values yet. */
  get fresh(): number {
    return this.#count - this.#computed;
  }

  /** [room, value width]: those of the rows, and room for more. */
  get values(): Float32Array {
    return this.#values;
  }

  clear(): void {
    this.#places.fill(0);
    this.#count = 0;
    this.#computed = 0;
  }

  /** To be called between batches, when nobody holds a number: forgets all rows when there are too many. */
  makeRoom(): void {
    if (this.#count >= this.#limit) this.clear();
  }

  /** The number of the row that begins at `start`: that of an equal one, or the next. */
  numberOf(from: Int32Array | Float32Array, start: number): number {
    const width = this.#width;
    const places = this.#places;
    const last = places.length - 1;
    let place = hashOf(from, start, width) & last;
    for (;;) {
      const known = (places[place] ?? 0) - 1;
      if (known < 0) break;
      if (this.#isRow(known, from, start)) return known;
      place = (place + 1) & last;
    }
    return this.#add(from, start, place);
  }

  /** The rows without values, and where those belong; `rows` of each, of which the last may be anybody's. */
  pending(rows: number): { readonly rows: Int32Array; readonly values: Float32Array } {
    while ((this.#computed + rows) * this.#width > this.#rows.length) this.#grow();
    const end = this.#computed + rows;
    return {
      rows: this.#rows.subarray(this.#computed * this.#width, end * this.#width),
      values: this.#values.subarray(this.#computed * this.#valueWidth, end * this.#valueWidth),
    };
  }

  /** The values of all rows are there. */
  settle(): void {
    this.#computed = this.#count;
  }

  #isRow(row: number, from: Int32Array | Float32Array, start: number): boolean {
    const rows = this.#rows;
    const width = this.#width;
    const at = row * width;
    for (let i = 0; i < width; i++) if (rows[at + i] !== from[start + i]) return false;
    return true;
  }

  #add(from: Int32Array | Float32Array, start: number, place: number): number {
    const row = this.#count++;
    const width = this.#width;
    if ((row + 1) * width > this.#rows.length) this.#grow();
    for (let i = 0; i < width; i++) this.#rows[row * width + i] = from[start + i] ?? 0;
    if (2 * this.#count > this.#places.length) this.#spread();
    else this.#places[place] = row + 1;
    return row;
  }

  #grow(): void {
    const rows = new Int32Array(2 * this.#rows.length);
    rows.set(this.#rows);
    this.#rows = rows;
    const values = new Float32Array(2 * this.#values.length);
    values.set(this.#values);
    this.#values = values;
  }

  /** Gives every row its place in a table of twice the size. */
  #spread(): void {
    const places = new Int32Array(2 * this.#places.length);
    const last = places.length - 1;
    for (let row = 0; row < this.#count; row++) {
      let place = hashOf(this.#rows, row * this.#width, this.#width) & last;
      while (places[place] !== 0) place = (place + 1) & last;
      places[place] = row + 1;
    }
    this.#places = places;
  }
}

/** Multiplies and folds two numbers of 16 bits at a time, in two chains that need not wait for each other (FNV's way). */
function hashOf(rows: Int32Array | Float32Array, start: number, width: number): number {
  let even = 0x811c9dc5;
  let odd = 0x2c1b3c6d;
  let at = start;
  const end = start + width;
  for (; at + 3 < end; at += 4) {
    even = Math.imul(even ^ ((rows[at] ?? 0) | ((rows[at + 1] ?? 0) << 16)), 0x85ebca6b);
    odd = Math.imul(odd ^ ((rows[at + 2] ?? 0) | ((rows[at + 3] ?? 0) << 16)), 0xc2b2ae35);
    even ^= even >>> 15;
    odd ^= odd >>> 15;
  }
  for (; at < end; at++) even = Math.imul(even ^ (rows[at] ?? 0), 0x01000193);
  const hash = Math.imul(even ^ (even >>> 16) ^ odd, 0x297a2d39);
  return hash ^ (hash >>> 15);
}
