import { type Codes, type RowBits, setsByCode } from './bits.ts';

/** What a row holds in a column. */
export type Cell = string | number | null;

/** A column of so many codes at most, in a block of so many rows at least, is also kept as sets of rows. */
const MOST_SETS = 32;
const LEAST_ROWS = 288;

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
  #lowerTexts: JoinedTexts | null = null;
  #sets: readonly RowBits[] | null = null;
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

  /**
   * For each code the rows that have it: names are then found and counted 32 rows at a time. Null where that would not pay,
   * and where all rows have the same.
   */
  get sets(): readonly RowBits[] | null {
    const { codes, codeCount } = this;
    if (codes === null || codeCount > MOST_SETS || codes.length < LEAST_ROWS) return null;
    this.#sets ??= setsByCode(codes, codeCount);
    return this.#sets;
  }

  /** Marks with 1 the codes of the texts in which a text occurs that has no upper-case ASCII letters; returns how many. */
  markContaining(wanted: string, table: Uint8Array): number {
    this.#lowerTexts ??= joinedTexts(this.texts);
    const { joined, starts } = this.#lowerTexts;
    let marked = 0;
    for (let code = 0; code < this.texts.length; code += 1) {
      const at = joined.indexOf(wanted, starts[code] ?? 0);
      if (at < 0) break;
      code = firstAtLeast(starts, at, true) - 1;
      // What reaches into the next text occurs in none of the two, and no later one in this text is shorter.
      if (at + wanted.length >= (starts[code + 1] ?? 0)) continue;
      table[code] = 1;
      marked += 1;
    }
    return marked;
  }
}

/** Texts in lower case one after the other, a character between them; where each begins, and where one more would. */
interface JoinedTexts {
  readonly joined: string;
  readonly starts: Uint32Array;
}

/** One long text is searched ten times faster than thousands of short ones. */
function joinedTexts(texts: readonly string[]): JoinedTexts {
  const starts = new Uint32Array(texts.length + 1);
  for (const [code, text] of texts.entries()) starts[code + 1] = (starts[code] ?? 0) + text.length + 1;
  return { joined: lowerAscii(texts.join('\n')), starts };
}

/** ASCII letters in lower case, all others as they are. */
export function lowerAscii(text: string): string {
  // oxlint-disable-next-line no-control-regex -- ASCII begins with them
  if (/^[\u0000-\u007f]*$/u.test(text)) return text.toLowerCase();
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
