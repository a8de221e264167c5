import { type EpisodeMarks, MarkReader, NO_MARKS } from '../src/store/episode-marks.ts';
import type { SavedFilters } from '../src/store/filter.ts';
import type { RunPaths } from '../src/store/run-directory.ts';

/** Files that may change by anybody's hand are looked at this often. */
const EVERY_MS = 1000;
/** Episodes that `@pinned` and `@noted` stand for at most: a filter has 4,000 characters. */
const MOST_IN_FILTER = 300;

/** What people have said of a run's episodes; read beside the drawing. */
export class MarksDesk {
  readonly paths: RunPaths;
  readonly #reader: MarkReader;
  readonly #onChange: (problem: unknown) => void;
  #marks: EpisodeMarks = NO_MARKS;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** `onChange` is called when they have changed, with what was thrown when they cannot be read. */
  constructor(paths: RunPaths, onChange: (problem: unknown) => void) {
    this.paths = paths;
    this.#reader = new MarkReader(paths);
    this.#onChange = onChange;
  }

  get marks(): EpisodeMarks {
    return this.#marks;
  }

  /** Looks again when it is time to. `now` in ms; none: at once. */
  refresh(now = Number.POSITIVE_INFINITY): void {
    if (now - this.#lookedAt < EVERY_MS) return;
    void this.read(Math.min(now, Date.now()));
  }

  /** Looks now; resolves when that is done, well or not. */
  async read(now = Date.now()): Promise<void> {
    this.#lookedAt = now;
    try {
      const marks = await this.#reader.read();
      if (marks === null) return;
      this.#marks = marks;
      this.#onChange(null);
    } catch (thrown) {
      this.#onChange(thrown);
    }
  }

  /** `@pinned` and `@noted`: the newest of them. */
  get filters(): SavedFilters {
    const { pins, notes } = this.#marks;
    return new Map([
      ['pinned', idFilter([...pins])],
      ['noted', idFilter([...notes.keys()])],
    ]);
  }
}

function idFilter(ids: readonly string[]): string {
  return ids.length === 0 ? '-*' : `id:${ids.slice(-MOST_IN_FILTER).join(',')}`;
}
