import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import { LabError } from '../domain/error.ts';
import { type AlignedRow, Alignment } from './align.ts';
import type { Side } from './recorded-pages.ts';

/** Rows of two executions beside each other, by number from 0. */
export interface AlignedRows {
  readonly length: number;
  /** Rows that differ. */
  readonly differences: number;
  /** Undefined where there is none. */
  row(index: number): AlignedRow | undefined;
  /** The next row after one that differs, or the one before it; null where there is none. */
  nextDifferent(index: number, direction: 1 | -1): number | null;
}

/** Rows that are all in memory. */
export function wholeRows(rows: readonly AlignedRow[]): AlignedRows {
  const same = Uint8Array.from(rows, ({ same: isSame }) => Number(isSame));
  return {
    length: rows.length,
    differences: rows.reduce((count, { same: isSame }) => count + Number(!isSame), 0),
    row: (index) => rows[index],
    nextDifferent: (index, direction) => {
      const found =
        direction > 0 ? same.indexOf(0, index + 1) : index <= 0 ? -1 : same.lastIndexOf(0, index - 1);
      return found < 0 ? null : found;
    },
  };
}

/** Rows that are packed together: unpacking so many takes a millisecond or two. */
const PART_ROWS = 1024;
/** Parts kept unpacked: what is on the screen, and what comes next. */
const KEPT_PARTS = 3;

/** A stretch of rows: PART_ROWS, or what is left of them at the end. */
export interface RowsPart {
  /** Deflated JSON. */
  readonly packed: Uint8Array;
  /** By row: 0 where it differs, else 1. */
  readonly same: Uint8Array;
}

const rowsSchema = z.array(
  z.object({
    step: z.int().positive(),
    kind: z.enum(['step', 'sees', 'gets', 'end']),
    left: z.string().nullable(),
    right: z.string().nullable(),
    same: z.boolean(),
  }),
);

/** A part, and how many of all steps are behind its last row. */
export interface PartDone extends RowsPart {
  readonly step: number;
  readonly of: number;
}

/** Puts two sides beside each other, a part at a time. Throws what reading them throws. */
export function* alignedParts(left: Side, right: Side): Generator<PartDone> {
  const alignment = new Alignment();
  const of = Math.max(left.steps, right.steps);
  let rows: AlignedRow[] = [];
  for (let index = 0; index < of; index += 1) {
    rows.push(...alignment.step(left.step(index), right.step(index)));
    for (; rows.length >= PART_ROWS; rows = rows.slice(PART_ROWS))
      yield { ...pack(rows.slice(0, PART_ROWS)), step: index + 1, of };
  }
  rows.push(...alignment.end(left.ending(), right.ending()));
  for (; rows.length > 0; rows = rows.slice(PART_ROWS))
    yield { ...pack(rows.slice(0, PART_ROWS)), step: of, of };
}

function pack(rows: readonly AlignedRow[]): RowsPart {
  return {
    packed: deflateRawSync(JSON.stringify(rows), { level: constants.Z_BEST_SPEED }),
    same: Uint8Array.from(rows, ({ same }) => Number(same)),
  };
}

/**
 * Rows of very long executions: packed as they came, and unpacked where somebody looks. A row takes a few bytes, so that millions of
 * them need no more room than a page of text.
 */
export class PackedRows implements AlignedRows {
  readonly #parts: RowsPart[] = [];
  readonly #unpacked = new Map<number, readonly AlignedRow[]>();
  #length = 0;
  #differences = 0;

  get length(): number {
    return this.#length;
  }

  get differences(): number {
    return this.#differences;
  }

  /** Takes the next part. Throws `protocol-invalid` after one that was not full: it was the last one. */
  add(part: RowsPart): void {
    if (this.#length % PART_ROWS !== 0) {
      throw new LabError('protocol-invalid', { message: `rows after the last one, number ${this.#length}` });
    }
    // What comes from a process is a piece of something larger, which it would keep in memory.
    this.#parts.push({ packed: part.packed.slice(), same: part.same.slice() });
    this.#length += part.same.length;
    for (const same of part.same) if (same === 0) this.#differences += 1;
  }

  row(index: number): AlignedRow | undefined {
    return index < 0 ? undefined : this.#rows(Math.floor(index / PART_ROWS))[index % PART_ROWS];
  }

  nextDifferent(index: number, direction: 1 | -1): number | null {
    const from = index + direction;
    if (from < 0) return null;
    const first = Math.floor(from / PART_ROWS);
    for (let part = first; ; part += direction) {
      const same = this.#parts[part]?.same;
      if (same === undefined) return null;
      const start = part === first ? from % PART_ROWS : direction > 0 ? 0 : same.length - 1;
      const found = direction > 0 ? same.indexOf(0, start) : same.lastIndexOf(0, start);
      if (found >= 0) return part * PART_ROWS + found;
    }
  }

  #rows(number: number): readonly AlignedRow[] {
    const known = this.#unpacked.get(number);
    if (known !== undefined) return known;
    const part = this.#parts[number];
    if (part === undefined) return [];
    const rows = rowsSchema.parse(JSON.parse(inflateRawSync(part.packed).toString('utf8')));
    this.#unpacked.set(number, rows);
    for (const old of this.#unpacked.keys()) {
      if (this.#unpacked.size <= KEPT_PARTS) break;
      this.#unpacked.delete(old);
    }
    return rows;
  }
}
