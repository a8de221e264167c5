import type { Codes } from './bits.ts';

/** What a row holds in a column. */
export type Cell = string | number | null;

/** Of what a column's cells are, when they are not null. */
export type ColumnKind = 'text' | 'number';

/**
 * One column of a block: its distinct values in ascending order, and for each row the index of its value among them. A
 * condition is then decided once a value instead of once a row, and a comparison is a range of codes.
 */
export class Column {
  readonly kind: ColumnKind;
  /** Null when all rows hold the same: code 0. */
  readonly codes: Codes | null;
  /** How many values, null not counted. */
  readonly distinct: number;
  /** Whether rows have no value: their code is `distinct`, after those of all values. */
  readonly hasMissing: boolean;
  #numbers: Float64Array | null = null;
  #texts: readonly string[] | null = null;
  #lowerTexts: readonly string[] | null = null;
  readonly #readNumbers: () => Float64Array;
  readonly #readTexts: () => readonly string[];

  constructor(parts: {
    readonly kind: ColumnKind;
    readonly codes: Codes | null;
    readonly distinct: number;
    readonly hasMissing: boolean;
    /** Called once, when they are first needed: many columns are never asked for. */
    readonly numbers: () => Float64Array;
    readonly texts: () => readonly string[];
  }) {
    this.kind = parts.kind;
    this.codes = parts.codes;
    this.distinct = parts.distinct;
    this.hasMissing = parts.hasMissing;
    this.#readNumbers = parts.numbers;
    this.#readTexts = parts.texts;
  }

  /** How many different codes there are: those of the values, and that of missing ones. */
  get codeCount(): number {
    return this.distinct + Number(this.hasMissing);
  }

  /** The values of a column of numbers, ascending; empty for one of text. */
  get numbers(): Float64Array {
    this.#numbers ??= this.#readNumbers();
    return this.#numbers;
  }

  /** The values of a column of text, ascending; empty for one of numbers. */
  get texts(): readonly string[] {
    this.#texts ??= this.#readTexts();
    return this.#texts;
  }

  /** The same with ASCII letters in lower case, for searches. */
  get lowerTexts(): readonly string[] {
    this.#lowerTexts ??= this.texts.map(lowerAscii);
    return this.#lowerTexts;
  }
}

/** ASCII letters in lower case, all others as they are. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/gu, (letters) => letters.toLowerCase());
}

/** The index of the first of ascending values that is not below the given one; with `above`, that is above it. */
export function firstAtLeast(values: Float64Array | Uint32Array, value: number, above = false): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const found = values[middle] ?? 0;
    if (found < value || (above && found === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}
