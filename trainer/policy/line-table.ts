/** Numbers that a line was read into: tokens, and three numbers for each name in it. */
export interface ReadLine {
  /** As many as the table is wide. */
  readonly tokens: ArrayLike<number>;
  readonly names: ArrayLike<number>;
}

const INITIAL_LINES = 256;
const INITIAL_NAMES = 1024;

/**
 * Lines that were read, numbered from 0. What they were read into lies in flat arrays: with thousands of slots the lines of
 * the next observation are in no cache, and each array or object of their own would be another wait for the memory.
 */
export class LineTable {
  readonly #width: number;
  readonly #numbers = new Map<string, number>();
  #tokens: Uint16Array;
  /** Where the names of a line begin, and after it those of the next. */
  #nameStarts = new Int32Array(INITIAL_LINES + 1);
  #names = new Int32Array(INITIAL_NAMES);

  /** `width` is the number of tokens that a line is read into. */
  constructor(width: number) {
    this.#width = width;
    this.#tokens = new Uint16Array(INITIAL_LINES * width);
  }

  get size(): number {
    return this.#numbers.size;
  }

  /** [lines, width], and room for more. */
  get tokens(): Uint16Array {
    return this.#tokens;
  }

  /** Of all lines, one after the other: those of line n from `nameStarts[n]` to before `nameStarts[n + 1]`. */
  get names(): Int32Array {
    return this.#names;
  }

  get nameStarts(): Int32Array {
    return this.#nameStarts;
  }

  /** The number of a line, or undefined for one that was not read yet. */
  find(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  /** Keeps what a line was read into; returns its number. */
  add(text: string, { tokens, names }: ReadLine): number {
    const line = this.#numbers.size;
    if (line + 1 >= this.#nameStarts.length) this.#growLines();
    const start = this.#nameStarts[line] ?? 0;
    if (start + names.length > this.#names.length) {
      const grown = new Int32Array(2 * (start + names.length));
      grown.set(this.#names);
      this.#names = grown;
    }
    this.#tokens.set(tokens, line * this.#width);
    this.#names.set(names, start);
    this.#nameStarts[line + 1] = start + names.length;
    this.#numbers.set(text, line);
    return line;
  }

  /** Forgets all lines: their numbers are given out again. */
  clear(): void {
    this.#numbers.clear();
  }

  #growLines(): void {
    const lines = 2 * (this.#nameStarts.length - 1);
    const [tokens, starts] = [new Uint16Array(lines * this.#width), new Int32Array(lines + 1)];
    tokens.set(this.#tokens);
    starts.set(this.#nameStarts);
    this.#tokens = tokens;
    this.#nameStarts = starts;
  }
}
