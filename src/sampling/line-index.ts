/** So many lines are looked through one by one. */
const FEW_LINES = 16;

/**
 * The distinct lines of one episode after another, numbered from 0 in the order in which they came. Most episodes have few: a map of
 * them, which every episode fills anew, would be a third of what a slot holds for one.
 */
export class LineIndex {
  #lines: string[] = [];
  /** Lengths of the first FEW_LINES: a line that is looked for is compared with those of its length alone. */
  readonly #lengths = new Int32Array(FEW_LINES);
  /** Of lines beyond those; null until there are some. */
  #further: Map<string, number> | null = null;

  /** Number of lines. */
  get count(): number {
    return this.#lines.length;
  }

  /** The line of this number. */
  line(index: number): string {
    return this.#lines[index] ?? '';
  }

  /** The number of a line: the next one for a line that is new. */
  indexOf(line: string): number {
    const lines = this.#lines;
    const { length } = line;
    const few = Math.min(lines.length, FEW_LINES);
    for (let i = 0; i < few; i++) if (this.#lengths[i] === length && lines[i] === line) return i;
    const known = this.#further?.get(line);
    return known ?? this.#add(line);
  }

  /** Begins the next episode. */
  clear(): void {
    this.#lines = [];
    this.#further = null;
  }

  #add(line: string): number {
    const index = this.#lines.push(line) - 1;
    if (index < FEW_LINES) this.#lengths[index] = line.length;
    else {
      this.#further ??= new Map();
      this.#further.set(line, index);
    }
    return index;
  }
}
