import type { EpisodeSummary } from '../src/domain/episode.ts';
import type { Filter } from '../src/store/filter.ts';
import type { RunReader } from '../src/store/queries.ts';

/** Rows read at once. */
export const PAGE_ROWS = 100;
/** Pages kept beside the first: walking through a million episodes must not hold them all. */
const KEPT_PAGES = 8;

/** The part of a reader that a list needs. */
export type EpisodeSource = Pick<RunReader, 'episodes' | 'countEpisodes' | 'failureCounts'>;

/**
 * The rows of one filter by number, read a page at a time by keyset. The first page stays as it was first read, so rows
 * keep their numbers while new episodes come in.
 */
export class EpisodePager {
  readonly #filter: Filter;
  readonly #pages = new Map<number, EpisodeSummary[]>();
  /** Cursor before each page that has been reached; the first page has none. */
  readonly #cursors: (string | null)[] = [null];
  #end: number | null = null;

  constructor(filter: Filter) {
    this.#filter = filter;
  }

  /** The row, or null beyond the last one. Reads the pages on the way there that have not been passed yet. */
  row(source: EpisodeSource, index: number): EpisodeSummary | null {
    if (index < 0) return null;
    const page = Math.floor(index / PAGE_ROWS);
    for (let reached = this.#cursors.length - 1; reached < page; reached += 1) {
      if (this.#end !== null) return null;
      this.#load(source, reached);
    }
    return this.#load(source, page)[index % PAGE_ROWS] ?? null;
  }

  #load(source: EpisodeSource, page: number): EpisodeSummary[] {
    const cursor = this.#cursors[page];
    if (cursor === undefined) return [];
    const kept = this.#pages.get(page);
    if (kept !== undefined) return kept;
    const { episodes, next } = source.episodes(this.#filter, { limit: PAGE_ROWS, after: cursor });
    this.#pages.set(page, episodes);
    if (next === null) this.#end = page;
    else this.#cursors[page + 1] = next;
    for (const old of this.#pages.keys()) {
      if (this.#pages.size <= KEPT_PAGES) break;
      if (old !== 0 && old !== page) this.#pages.delete(old);
    }
    return episodes;
  }
}
