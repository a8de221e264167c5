/** Numbers of the first and the last episode of a window. */
export interface EpisodeSpan {
  readonly first: number;
  readonly last: number;
}

/** Which of the newest episodes match. */
export interface EpisodeWindow {
  readonly total: number;
  readonly matched: number;
  /** How many episodes a full window of so many has; null where a window is a length of time. */
  readonly size: number | null;
  /** Forgets what is too old at `now`, ms of running time. */
  advance(now: number): void;
  add(sequence: number, matches: boolean, now: number): void;
  /** Null while there are none. */
  span(): EpisodeSpan | null;
}

/** The newest `size` episodes, in the order in which they were stored. */
export class CountWindow implements EpisodeWindow {
  readonly size: number;
  readonly #sequences: Float64Array;
  readonly #matches: Uint8Array;
  /** Where the next one goes: the oldest stands there once the window is full. */
  #next = 0;
  total = 0;
  matched = 0;

  constructor(size: number) {
    this.size = size;
    this.#sequences = new Float64Array(size);
    this.#matches = new Uint8Array(size);
  }

  advance(): void {
    // Only newer ones drive an episode out.
  }

  add(sequence: number, matches: boolean): void {
    this.matched += Number(matches) - (this.#matches[this.#next] ?? 0);
    this.#sequences[this.#next] = sequence;
    this.#matches[this.#next] = Number(matches);
    this.#next = (this.#next + 1) % this.size;
    this.total = Math.min(this.size, this.total + 1);
  }

  span(): EpisodeSpan | null {
    if (this.total === 0) return null;
    let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const sequence of this.#sequences.subarray(0, this.total)) {
      first = Math.min(first, sequence);
      last = Math.max(last, sequence);
    }
    return { first, last };
  }
}

/** Counts of a stretch of time. */
interface Stretch {
  readonly index: number;
  total: number;
  matched: number;
  first: number;
  last: number;
}

/** Parts of a window of time: what is forgotten is forgotten by them. */
const STRETCHES = 100;

/** The episodes of the last `ms`, to a hundredth of that. */
export class TimeWindow implements EpisodeWindow {
  readonly size = null;
  readonly #stretchMs: number;
  readonly #stretches: Stretch[] = [];
  total = 0;
  matched = 0;

  constructor(ms: number) {
    this.#stretchMs = ms / STRETCHES;
  }

  advance(now: number): void {
    const oldest = Math.floor(now / this.#stretchMs) - STRETCHES;
    for (let stretch = this.#stretches[0]; stretch !== undefined; [stretch] = this.#stretches) {
      if (stretch.index > oldest) return;
      this.total -= stretch.total;
      this.matched -= stretch.matched;
      this.#stretches.shift();
    }
  }

  add(sequence: number, matches: boolean, now: number): void {
    this.advance(now);
    const index = Math.floor(now / this.#stretchMs);
    let stretch = this.#stretches.at(-1);
    if (stretch === undefined || stretch.index < index) {
      stretch = { index, total: 0, matched: 0, first: sequence, last: sequence };
      this.#stretches.push(stretch);
    }
    stretch.total += 1;
    stretch.matched += Number(matches);
    stretch.first = Math.min(stretch.first, sequence);
    stretch.last = Math.max(stretch.last, sequence);
    this.total += 1;
    this.matched += Number(matches);
  }

  span(): EpisodeSpan | null {
    if (this.#stretches.length === 0) return null;
    return {
      first: Math.min(...this.#stretches.map(({ first }) => first)),
      last: Math.max(...this.#stretches.map(({ last }) => last)),
    };
  }
}
