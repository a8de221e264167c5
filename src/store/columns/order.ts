import { z } from 'zod';
import { LabError } from '../../domain/error.ts';
import type { FilterSort } from '../filter-tree.ts';
import { eachRowFromLast, giveBack, keepRows, lendCopy, type RowBits } from './bits.ts';
import { type Column, firstAtLeast } from './column.ts';
import type { MatchedRows } from './kept-matches.ts';
import { numberColumn } from './match.ts';

/** The first rows of an order. */
export interface OrderedRows {
  /** Numbers of the episodes, in order. */
  readonly sequences: readonly number[];
  /** Names the place after the last of them; null when nothing follows. */
  readonly next: string | null;
}

/**
 * A row's place: by `key` ascending, then by `sequence` descending. Keys turn every order into an ascending one; a missing
 * value has the key Infinity, so that it comes last in each.
 */
interface Place {
  readonly key: number;
  readonly sequence: number;
}

/**
 * The first `limit` of matching rows after a cursor, or from the beginning for null. Blocks all of whose rows come later
 * than what has been found, or before the cursor, are not looked into. Throws `usage` for a cursor of another order, or
 * none at all.
 */
export function firstRows(
  matched: readonly MatchedRows[],
  sort: FilterSort,
  { limit, after }: { readonly limit: number; readonly after: string | null },
): OrderedRows {
  const cursor = after === null ? null : readCursor(after, sort);
  // A limit may say "all of them".
  const most = matched.reduce((sum, { block }) => sum + block.rows, 0);
  const found = new FirstPlaces(Math.min(limit, most) + 1);
  const byBest = matched
    .map((rows) => keyedRows(rows, sort))
    .toSorted((left, right) => left.best - right.best);
  for (const rows of byBest) {
    if (rows.best > found.worstKey) break;
    if (cursor === null || rows.worst >= cursor.key) collect(rows, cursor, found);
  }
  const places = found.inOrder();
  const page = places.slice(0, limit);
  const last = places.length > limit ? page.at(-1) : undefined;
  return {
    sequences: page.map(({ sequence }) => sequence),
    next: last === undefined ? null : cursorOf(last, sort),
  };
}

interface KeyedRows {
  readonly rows: MatchedRows;
  readonly column: Column | null;
  /** 1, or -1 where the column's values descend. */
  readonly sign: number;
  /** Least and greatest key of the block. */
  readonly best: number;
  readonly worst: number;
}

function keyedRows(rows: MatchedRows, sort: FilterSort): KeyedRows {
  const name = numberColumn(sort.field);
  const column = rows.block.columns.get(name) ?? rows.block.derived.get(name) ?? null;
  const sign = isAscending(sort) ? 1 : -1;
  if (column === null || column.distinct === 0) {
    return { rows, column, sign, best: Number.POSITIVE_INFINITY, worst: Number.POSITIVE_INFINITY };
  }
  const ends = [sign * (column.numbers[0] ?? 0), sign * (column.numbers[column.distinct - 1] ?? 0)];
  const worst = column.hasMissing ? Number.POSITIVE_INFINITY : Math.max(...ends);
  return { rows, column, sign, best: Math.min(...ends), worst };
}

/** Whether the column's values ascend: the young have a late beginning. */
function isAscending({ field, descending }: FilterSort): boolean {
  return field === 'age' ? descending : !descending;
}

function collect(keyed: KeyedRows, cursor: Place | null, found: FirstPlaces): void {
  const { rows, column, sign } = keyed;
  const sequences = rows.block.columns.get('sequence');
  const numbers = column?.numbers ?? new Float64Array(0);
  const bits = within(keyed, cursor?.key ?? Number.NEGATIVE_INFINITY, found.worstKey);
  eachRowFromLast(bits, (row) => {
    const value = numbers[column?.codes?.[row] ?? 0];
    const key = value === undefined ? Number.POSITIVE_INFINITY : sign * value;
    if (key > found.worstKey) return;
    const sequence = sequences?.numbers[sequences.codes?.[row] ?? 0] ?? 0;
    if (cursor === null || key > cursor.key || sequence < cursor.sequence) found.offer(key, sequence);
  });
  if (bits !== rows.bits) giveBack(bits);
}

/** One for all columns, one after the other: codes have 16 bits at most, and one is for missing values. */
const TABLE = new Uint8Array(2 ** 16 + 1);

/** The rows whose keys are not outside of two ends: few, once the first places are known. */
function within({ rows, column, sign }: KeyedRows, best: number, worst: number): RowBits {
  if (column === null || column.codes === null) return rows.bits;
  const { numbers, distinct, codeCount } = column;
  const table = TABLE.fill(0, 0, codeCount);
  if (sign > 0) table.fill(1, firstAtLeast(numbers, best), firstAtLeast(numbers, worst, true));
  else table.fill(1, firstAtLeast(numbers, -worst), firstAtLeast(numbers, -best, true));
  // Missing values have the last key.
  if (worst === Number.POSITIVE_INFINITY) table.fill(1, distinct);
  const bits = lendCopy(rows.bits);
  keepRows(bits, column.codes, table);
  return bits;
}

/**
 * The first places of those that were offered: a heap with the last of them on top. Numbers in two arrays, since an order offers
 * up to all rows of a block: an object for each would be what the collector finds.
 */
class FirstPlaces {
  readonly #limit: number;
  readonly #keys: Float64Array;
  readonly #sequences: Float64Array;
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#keys = new Float64Array(limit);
    this.#sequences = new Float64Array(limit);
  }

  /** A greater key need not be offered. */
  get worstKey(): number {
    return this.#size < this.#limit ? Number.POSITIVE_INFINITY : (this.#keys[0] ?? 0);
  }

  offer(key: number, sequence: number): void {
    if (this.#size < this.#limit) {
      this.#size += 1;
      this.#rise(this.#size - 1, key, sequence);
    } else if (!this.#isLater(0, key, sequence)) return;
    else this.#sink(key, sequence);
  }

  inOrder(): Place[] {
    const place = (_: unknown, at: number): Place => ({
      key: this.#keys[at] ?? 0,
      sequence: this.#sequences[at] ?? 0,
    });
    return Array.from({ length: this.#size }, place).toSorted(compare);
  }

  /** From a free place at the end upwards, to where it belongs. */
  #rise(from: number, key: number, sequence: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (this.#isLater(parent, key, sequence)) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#put(at, key, sequence);
  }

  /** In place of the top, and from there downwards. */
  #sink(key: number, sequence: number): void {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#size) break;
      const right = child + 1;
      const isLeftLater = this.#isLater(child, this.#keys[right] ?? 0, this.#sequences[right] ?? 0);
      if (right < this.#size && !isLeftLater) child = right;
      if (!this.#isLater(child, key, sequence)) break;
      this.#move(child, at);
      at = child;
    }
    this.#put(at, key, sequence);
  }

  /** Whether the place at an index comes after another one. */
  #isLater(at: number, key: number, sequence: number): boolean {
    const own = this.#keys[at] ?? 0;
    return own === key ? (this.#sequences[at] ?? 0) < sequence : own > key;
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#keys[from] ?? 0, this.#sequences[from] ?? 0);
  }

  #put(at: number, key: number, sequence: number): void {
    this.#keys[at] = key;
    this.#sequences[at] = sequence;
  }
}

function compare(left: Place, right: Place): number {
  // Infinity less Infinity is no number.
  return left.key === right.key ? right.sequence - left.sequence : left.key - right.key;
}

/** The text of an order, as a filter has it. */
function orderText({ field, descending }: FilterSort): string {
  return `sort:${descending ? '-' : ''}${field}`;
}

const cursorSchema = z.tuple([z.string(), z.number().nullable(), z.int().nonnegative()]);

/** Names a place in an order: a missing value, whose key JSON cannot hold, is null. */
function cursorOf({ key, sequence }: Place, sort: FilterSort): string {
  return JSON.stringify([orderText(sort), Number.isFinite(key) ? key : null, sequence]);
}

function readCursor(text: string, sort: FilterSort): Place {
  const [order, key, sequence] = parseCursor(text);
  if (order !== orderText(sort)) throw badCursor(`it was made for the order "${order}"`);
  return { key: key ?? Number.POSITIVE_INFINITY, sequence };
}

function parseCursor(text: string): z.infer<typeof cursorSchema> {
  try {
    return cursorSchema.parse(JSON.parse(text));
  } catch {
    throw badCursor('it is not one of ours');
  }
}

function badCursor(why: string): LabError {
  return new LabError('usage', {
    message: `the page cannot be continued: ${why}`,
    hint: 'ask for the first page again, then use the `next` that it gives, with the same filter',
  });
}
