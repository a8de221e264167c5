/** What the charts show. */
export const CHART_PAGES = ['run', 'update', 'rewards', 'families'] as const;
export type ChartPage = (typeof CHART_PAGES)[number];

/** Weights of the past in the running mean: none, light, heavy. */
const SMOOTHINGS = [0, 0.6, 0.9] as const;
/** Iterations that are shown at least. */
const LEAST = 4;
/** A pan moves by one in so many of what is shown. */
const PAN = 4;

/** The iterations there are: the first and the last. */
type Span = readonly [number, number];

/** What is remembered of it: all but the cursor. */
export interface ChartState {
  readonly page: string;
  readonly smoothing: number;
  readonly log: boolean;
  readonly window: [number, number] | null;
  readonly isAtEnd: boolean;
}

/** How the user looks at the charts: which ones, what part of the run, a cursor, smoothing, scale. */
export class ChartView {
  #page = 0;
  #smoothing = 0;
  /** Iterations shown; null follows the run in full. */
  #window: Span | null = null;
  /** The window goes along with the run: it was put at the newest end, and nothing is read farther back. */
  #isAtEnd = false;
  /** The iteration that values are read at; null is the newest. */
  #cursor: number | null = null;
  log = false;

  get page(): ChartPage {
    return CHART_PAGES[this.#page] ?? 'run';
  }

  /** Weight of the past in the running mean, in [0, 1). */
  get smoothing(): number {
    return SMOOTHINGS[this.#smoothing] ?? 0;
  }

  get window(): Span | null {
    return this.#window;
  }

  /** Iterations shown of a run that has these by now; null for all of them. */
  shown(all: Span): Span | null {
    if (this.#window === null || !this.#isAtEnd) return this.#window;
    const [from, to] = this.#window;
    return [Math.max(all[0], all[1] - (to - from)), all[1]];
  }

  get cursor(): number | null {
    return this.#cursor;
  }

  nextPage(): void {
    this.#page = (this.#page + 1) % CHART_PAGES.length;
  }

  nextSmoothing(): void {
    this.#smoothing = (this.#smoothing + 1) % SMOOTHINGS.length;
  }

  /** Shows half as much around the cursor, or around the newest; twice as much for -1. */
  zoom(direction: 1 | -1, all: Span): void {
    const [from, to] = this.shown(all) ?? all;
    const width = Math.max(LEAST, Math.round((to - from) * (direction > 0 ? 0.5 : 2)));
    if (width >= all[1] - all[0]) {
      this.#window = null;
      return;
    }
    const middle = this.#cursor ?? to;
    // The cursor keeps its place on the screen; without one, the newest stays at the right end.
    const share = to === from ? 1 : Math.min(1, Math.max(0, (middle - from) / (to - from)));
    this.#place(middle - share * width, width, all);
  }

  pan(direction: 1 | -1, all: Span): void {
    const window = this.shown(all);
    if (window === null) return;
    const [from, to] = window;
    this.#place(from + direction * Math.max(1, Math.round((to - from) / PAN)), to - from, all);
  }

  /** Puts the cursor on an iteration, of the whole run. */
  readAt(iteration: number): void {
    this.#window = null;
    this.#cursor = iteration;
  }

  /** Moves the cursor by iterations; past the newest it is gone. The window goes with it. */
  moveCursor(by: number, all: Span): void {
    const next = Math.max(all[0], (this.#cursor ?? all[1]) + by);
    this.#cursor = next > all[1] || (this.#cursor === null && by > 0) ? null : next;
    this.#window = this.shown(all);
    if (this.#window === null) return;
    const [from, to] = this.#window;
    this.#isAtEnd = this.#cursor === null && to >= all[1];
    if (this.#cursor === null) return;
    if (this.#cursor < from) this.#place(this.#cursor, to - from, all);
    else if (this.#cursor > to) this.#place(this.#cursor - (to - from), to - from, all);
  }

  /** Everything, newest value, no smoothing, plain scale. */
  reset(): void {
    this.#window = null;
    this.#cursor = null;
    this.#smoothing = 0;
    this.log = false;
  }

  /** How it looks, to be looked at so again. */
  get state(): ChartState {
    const window: [number, number] | null = this.#window === null ? null : [this.#window[0], this.#window[1]];
    return { page: this.page, smoothing: this.smoothing, log: this.log, window, isAtEnd: this.#isAtEnd };
  }

  /** Looks as it did; what it does not know is left as it is at first. */
  restore({ page, smoothing, log, window, isAtEnd }: ChartState): void {
    this.#page = Math.max(
      0,
      CHART_PAGES.findIndex((name) => name === page),
    );
    this.#smoothing = Math.max(
      0,
      SMOOTHINGS.findIndex((weight) => weight === smoothing),
    );
    this.log = log;
    this.#window = window !== null && window[1] - window[0] >= LEAST ? window : null;
    this.#isAtEnd = isAtEnd;
  }

  #place(from: number, width: number, [first, last]: Span): void {
    const start = Math.round(Math.max(first, Math.min(last - width, from)));
    this.#window = [start, start + width];
    this.#isAtEnd = this.#cursor === null && start + width >= last;
  }
}
