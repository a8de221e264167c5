import type { IterationMetrics } from '../src/domain/run.ts';
import type { RunReader } from '../src/store/queries.ts';
import { RunCurves } from './run-curves.ts';

type HistoryReader = Pick<RunReader, 'iterations' | 'plainIterations' | 'lastIteration'>;

/** Newest rows that are read at once when a run is opened: a few ms. */
const NEWEST = 512;
/** Rows kept whole, at most, once older ones are curves only. */
const MOST_KEPT = 2 * NEWEST;
/** Iterations read between two looks at the clock. */
const CHUNK = 64;

/** Curves of all iterations, while those before the newest are still read. */
interface Building {
  readonly curves: RunCurves;
  /** They reach until here, */
  after: number;
  /** and are whole when they reach this, where the newest rows begin. */
  readonly until: number;
}

/**
 * The iterations of a run: the newest as rows, all of them as curves. A run of a million is open at once with its newest part, and
 * the rest is read in small slices between frames.
 */
export class IterationHistory {
  #rows: readonly IterationMetrics[] = [];
  #curves = new RunCurves();
  #building: Building | null = null;
  #isOpen = false;

  /** Ascending; the same array while nothing has come. */
  get rows(): readonly IterationMetrics[] {
    return this.#rows;
  }

  get curves(): RunCurves {
    return this.#curves;
  }

  /** Share of the older iterations that was read; 1 when the curves are whole. */
  get olderRead(): number {
    if (this.#building === null) return 1;
    return this.#building.after / Math.max(1, this.#building.until);
  }

  /**
   * Reads what came since. Up to `settled` nothing changes any more; later rows are looked at again, since a run that is resumed
   * from a checkpoint does them again.
   */
  refresh(reader: HistoryReader, settled: number): void {
    if (!this.#isOpen) {
      this.#open(reader, settled);
      return;
    }
    const unsettled = this.#rows.findIndex(({ iteration }) => iteration > settled);
    const kept = unsettled < 0 ? this.#rows.length : unsettled;
    const before = this.#rows[kept - 1]?.iteration ?? (this.#rows[0]?.iteration ?? 1) - 1;
    const read = reader.iterations(before);
    const seen = this.#rows.slice(kept);
    const isAsSeen = seen.every((row, index) => isSame(row, read[index]));
    if (isAsSeen) this.#append(read.slice(seen.length));
    else this.#open(reader, settled);
  }

  /** Reads older iterations for about so many ms; returns whether there are more. */
  readOlder(reader: HistoryReader, budgetMs: number): boolean {
    const building = this.#building;
    if (building === null) return false;
    const began = performance.now();
    while (building.after < building.until && performance.now() - began < budgetMs) {
      const until = Math.min(building.after + CHUNK, building.until);
      for (const row of reader.plainIterations(building.after, until)) building.curves.push(row);
      building.after = until;
    }
    if (building.after < building.until) return true;
    for (const row of this.#rows) building.curves.push(row);
    this.#curves = building.curves;
    this.#building = null;
    return false;
  }

  #open(reader: HistoryReader, settled: number): void {
    let before = Math.max(0, Math.min(reader.lastIteration(), settled + 1) - NEWEST);
    this.#rows = reader.iterations(before);
    // What is stored behind the newest attempt's end does not count.
    for (let reach = NEWEST; this.#rows.length === 0 && before > 0; reach *= 2) {
      before = Math.max(0, before - reach);
      this.#rows = reader.iterations(before);
    }
    this.#curves = new RunCurves();
    for (const row of this.#rows) this.#curves.push(row);
    this.#building = before > 0 ? { curves: new RunCurves(), after: 0, until: before } : null;
    this.#isOpen = true;
  }

  #append(rows: readonly IterationMetrics[]): void {
    if (rows.length === 0) return;
    for (const row of rows) this.#curves.push(row);
    const all = [...this.#rows, ...rows];
    // While older ones are read, their curves are to go on from these.
    this.#rows = all.length > MOST_KEPT && this.#building === null ? all.slice(-NEWEST) : all;
  }
}

function isSame(row: IterationMetrics, other: IterationMetrics | undefined): boolean {
  return row.iteration === other?.iteration && row.attempt === other.attempt && row.time === other.time;
}
