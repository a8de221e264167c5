import type { IterationMetrics } from '../src/domain/run.ts';
import type { RunReader } from '../src/store/queries.ts';

/** Ms between two looks: the parent may still be going on. */
const EVERY_MS = 2000;

/** The iterations of the run that another was branched from, as far as they can be read. */
export class ParentCurve {
  readonly #open: () => RunReader;
  #reader: RunReader | null = null;
  #rows: readonly IterationMetrics[] = [];
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(open: () => RunReader) {
    this.#open = open;
  }

  /** Ascending; what was read last while it cannot be read, empty when it never could. `now` in ms. */
  iterations(now: number): readonly IterationMetrics[] {
    if (now - this.#readAt < EVERY_MS) return this.#rows;
    this.#readAt = now;
    try {
      this.#reader ??= this.#open();
      this.#rows = this.#newest(this.#reader);
    } catch {
      // A parent that was removed, or is of a newer lab, takes nothing from its branch but the comparison.
      this.close();
    }
    return this.#rows;
  }

  close(): void {
    this.#reader?.close();
    this.#reader = null;
  }

  #newest(reader: RunReader): readonly IterationMetrics[] {
    const last = this.#rows.at(-1);
    const fresh = reader.iterations(last?.iteration ?? 0);
    if (fresh.length === 0) return this.#rows;
    // A parent that was resumed has done some of what was read once more.
    if (last !== undefined && fresh[0]?.attempt !== last.attempt) return reader.iterations();
    return [...this.#rows, ...fresh];
  }
}
