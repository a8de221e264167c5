import type { IterationMetrics } from '../src/domain/run.ts';
import type { RunReader } from '../src/store/queries.ts';

/** Ms between two looks: the parent may still be going on. */
const EVERY_MS = 2000;
/** Iterations of the parent that are shown before and after the branch at least. */
const LEAST_CONTEXT = 20;
/** The most iterations that are read at once between two frames: a few ms. */
const MOST_AT_ONCE = 512;
/** Farther on, finding out which attempt of a resumed parent counts may take longer than a frame has. */
const NEAR = 10_000;
/** What is read beside the drawing is read again when so much of it is new: as little as nobody sees on a chart. */
const NEWS = 1 / 100;

/** The iterations after `after` until `until`. */
export interface IterationSpan {
  readonly after: number;
  readonly until: number;
}

/**
 * The iterations of a parent that are shown with a branch: on either side of it as much as the branch is long. A young branch of a
 * long run would otherwise be a dot beside it. `reached`: the branch's newest iteration.
 */
export function parentSpan(branched: number, reached: number): IterationSpan {
  const to = Math.max(branched, reached);
  const margin = Math.max(LEAST_CONTEXT, to - branched);
  return { after: Math.max(0, branched - margin - 1), until: to + margin };
}

/** Where a parent is read. */
export interface ParentSources {
  /** The iteration that the branch began after. */
  readonly branched: number;
  readonly open: () => RunReader;
  /** Reads a part that is long beside the drawing; of very many iterations those that a chart shows. */
  readonly read: (span: IterationSpan) => Promise<readonly IterationMetrics[]>;
}

/** The iterations of the run that another was branched from, as far as they are shown and can be read. */
export class ParentCurve {
  readonly #sources: ParentSources;
  #reader: RunReader | null = null;
  #rows: readonly IterationMetrics[] = [];
  #readAt = Number.NEGATIVE_INFINITY;
  /** What the newest look at a near part found at its ends. */
  #found = '';
  /** What was read beside the drawing last, or is. */
  #far: IterationSpan | null = null;
  #isAsking = false;

  constructor(sources: ParentSources) {
    this.#sources = sources;
  }

  /**
   * Ascending; what was read last while it cannot be read, or is still being read; empty when it never could. `now` in ms; `reached`:
   * the branch's newest iteration.
   */
  iterations(now: number, reached: number): readonly IterationMetrics[] {
    if (now - this.#readAt < EVERY_MS) return this.#rows;
    this.#readAt = now;
    try {
      this.#reader ??= this.#sources.open();
      const { after, until } = parentSpan(this.#sources.branched, reached);
      const there = { after, until: Math.min(until, this.#reader.lastIteration()) };
      if (until - after <= MOST_AT_ONCE && until <= NEAR) this.#readNear(this.#reader, there);
      else this.#readFar(there);
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

  #readNear(reader: RunReader, { after, until }: IterationSpan): void {
    const [newest] = reader.iterations(until - 1, until);
    // A parent that was resumed has done some of what was read once more.
    const found = `${after} ${until} ${newest?.attempt} ${newest?.time}`;
    if (found === this.#found) return;
    this.#rows = reader.iterations(after, until);
    this.#found = found;
  }

  #readFar(span: IterationSpan): void {
    if (this.#isAsking || !isNews(this.#far, span)) return;
    this.#far = span;
    this.#found = '';
    void this.#ask(span);
  }

  async #ask(span: IterationSpan): Promise<void> {
    this.#isAsking = true;
    try {
      this.#rows = await this.#sources.read(span);
    } catch {
      this.#far = null;
    } finally {
      this.#isAsking = false;
    }
  }
}

/** Whether a part has changed so much since it was read that it is read again. */
function isNews(read: IterationSpan | null, { after, until }: IterationSpan): boolean {
  if (read === null) return true;
  const changed = Math.abs(after - read.after) + Math.abs(until - read.until);
  return changed > NEWS * (until - after);
}
