import type { TextPolicySpec } from '../../src/domain/policy-spec.ts';
import type { LineReadings } from './line-readings.ts';
import type { RowMemory } from './row-memory.ts';

/** Where a place goes on from; the numbers of `Continuation`. */
const FROM = ['start', 'task', 'prefix'] as const;

/**
 * In which order the observations of one call are read. A call has as many rounds as the longest reading; each row reads one
 * line in each of the last of them, so that all read their last line in the last round.
 */
export class ReadingPlan {
  readonly #spec: TextPolicySpec;
  readonly #lines: RowMemory;
  readonly #readings: LineReadings;
  /** By row: where its lines with a word begin among the tokens, [rows, sentences]; how many there are; the task's among them. */
  #starts = new Int32Array(0);
  /** The number, among the lines known, of each that is to be read: [rows, sentences]. */
  #numbers = new Int32Array(0);
  #counts = new Int32Array(0);
  #taskCounts = new Int32Array(0);
  /** By row: where it goes on from (a place in FROM), lines that need not be read again, and lines to read. */
  #from = new Uint8Array(0);
  #skipped = new Int32Array(0);
  #todo = new Int32Array(0);
  /** By place: its row. */
  #rowOf = new Int32Array(0);
  /** Rows by their number of lines to read. */
  readonly #tally: Int32Array;
  /** A line without words, which leaves the state as it is: what an observation without lines reads. */
  readonly #empty: Int32Array;
  #tokens: Int32Array | Float32Array = new Int32Array(0);
  #readers: Int32Array | null = null;
  #rows = 0;
  #rounds = 0;

  constructor(spec: TextPolicySpec, lines: RowMemory, readings: LineReadings) {
    this.#spec = spec;
    this.#lines = lines;
    this.#readings = readings;
    this.#tally = new Int32Array(spec.sentences + 1);
    this.#empty = new Int32Array(spec.tokens);
  }

  get rounds(): number {
    return this.#rounds;
  }

  /** The row at a place. */
  rowAt(place: number): number {
    return this.#rowOf[place] ?? 0;
  }

  /** Plans the first `rows` observations. `readers`: whose each is; without them, all is read. */
  plan(tokens: Int32Array | Float32Array, rows: number, readers: Int32Array | null, weights: number): void {
    this.#makeRoom(rows);
    this.#tokens = tokens;
    this.#readers = readers;
    this.#rows = rows;
    this.#rounds = 0;
    this.#tally.fill(0);
    for (let row = 0; row < rows; row++) {
      this.#find(row);
      const shown = this.#shown(row);
      const reader = readers?.[row];
      let from = 0;
      let skipped = 0;
      if (reader !== undefined) {
        const next = this.#readings.resume(reader, shown, weights);
        from = FROM.indexOf(next.from);
        skipped = next.lines;
        this.#readings.note(reader, shown, weights, skipped);
      }
      const todo = this.#number(row, skipped);
      this.#from[row] = from;
      this.#skipped[row] = skipped;
      this.#todo[row] = todo;
      this.#tally[todo] = (this.#tally[todo] ?? 0) + 1;
      if (todo > this.#rounds) this.#rounds = todo;
    }
    this.#order();
  }

  /**
   * Begins a round, the first is 0: the numbers of the lines to read go to `lines`, by place, and the states of rows that begin
   * to `states`, beside those of the round before. Returns how many places read a line.
   */
  begin(round: number, lines: Int32Array, states: Float32Array): number {
    const { hidden, sentences } = this.#spec;
    const least = this.#rounds - round;
    const isLast = least === 1;
    let place = 0;
    for (; place < this.#rows; place++) {
      const row = this.#rowOf[place] ?? 0;
      const todo = this.#todo[row] ?? 0;
      if (todo < least) break;
      const read = (this.#skipped[row] ?? 0) + todo - least;
      if (todo === least) this.#place(row, states, place * hidden);
      lines[place] = this.#numbers[row * sentences + read] ?? 0;
      this.#keep(row, { read, isLast }, states, place * hidden);
    }
    return place;
  }

  /** The call came to nothing: no state was kept. */
  abandon(): void {
    for (const reader of this.#readers?.subarray(0, this.#rows) ?? []) this.#readings.forget(reader);
  }

  #place(row: number, states: Float32Array, at: number): void {
    const reader = this.#readers?.[row];
    if (reader === undefined) states.fill(0, at, at + this.#spec.hidden);
    else this.#readings.takeState(reader, FROM[this.#from[row] ?? 0] ?? 'start', states, at);
  }

  /** Looks up the lines of a row that are to be read. Returns how many those are. */
  #number(row: number, skipped: number): number {
    const first = row * this.#spec.sentences;
    const count = this.#counts[row] ?? 0;
    if (count === 0) {
      this.#numbers[first] = this.#lines.numberOf(this.#empty, 0);
      return 1;
    }
    for (let line = skipped; line < count; line++) {
      this.#numbers[first + line] = this.#lines.numberOf(this.#tokens, this.#starts[first + line] ?? 0);
    }
    return count - skipped;
  }

  /** Keeps the state before the line that is read next, if it is one to go on from later. */
  #keep(
    row: number,
    { read, isLast }: { readonly read: number; readonly isLast: boolean },
    states: Float32Array,
    at: number,
  ): void {
    const reader = this.#readers?.[row];
    if (reader === undefined) return;
    const task = this.#taskCounts[row] ?? 0;
    if (read === task && (this.#skipped[row] ?? 0) < task) this.#readings.keepTask(reader, states, at);
    const isKept = FROM[this.#from[row] ?? 0] === 'prefix' && this.#todo[row] === 1;
    if (isLast && !isKept) this.#readings.keepPrefix(reader, states, at);
  }

  /** The lines of a row that hold a word. */
  #find(row: number): void {
    const { sentences, taskSentences, tokens: width } = this.#spec;
    const tokens = this.#tokens;
    const first = row * sentences;
    let count = 0;
    for (let sentence = 0; sentence < sentences; sentence++) {
      const start = (first + sentence) * width;
      if (hasWord(tokens, start, width)) this.#starts[first + count++] = start;
      if (sentence + 1 === taskSentences) this.#taskCounts[row] = count;
    }
    this.#counts[row] = count;
  }

  #shown(row: number) {
    return {
      tokens: this.#tokens,
      starts: this.#starts,
      startsAt: row * this.#spec.sentences,
      count: this.#counts[row] ?? 0,
      task: this.#taskCounts[row] ?? 0,
    };
  }

  /** Gives each row its place: those with the most lines to read first, else in their order. */
  #order(): void {
    const next = this.#tally;
    let place = 0;
    for (let todo = this.#rounds; todo > 0; todo--) {
      const rows = next[todo] ?? 0;
      next[todo] = place;
      place += rows;
    }
    for (let row = 0; row < this.#rows; row++) {
      const todo = this.#todo[row] ?? 0;
      const at = next[todo] ?? 0;
      this.#rowOf[at] = row;
      next[todo] = at + 1;
    }
  }

  #makeRoom(rows: number): void {
    if (rows <= this.#counts.length) return;
    this.#starts = new Int32Array(rows * this.#spec.sentences);
    this.#numbers = new Int32Array(rows * this.#spec.sentences);
    this.#counts = new Int32Array(rows);
    this.#taskCounts = new Int32Array(rows);
    this.#from = new Uint8Array(rows);
    this.#skipped = new Int32Array(rows);
    this.#todo = new Int32Array(rows);
    this.#rowOf = new Int32Array(rows);
  }
}

/** The encoder fills a line from its beginning; others may not. */
function hasWord(tokens: Int32Array | Float32Array, start: number, width: number): boolean {
  for (let at = start; at < start + width; at++) if ((tokens[at] ?? 0) > 0) return true;
  return false;
}
