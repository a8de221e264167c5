import type { EpisodeSummary } from '../src/domain/episode.ts';
import type { EpisodeSearch } from '../src/store/episode-search.ts';
import type { Filter } from '../src/store/filter.ts';

/** Rows asked for at once. */
export const PAGE_ROWS = 100;
/** Pages kept beside the first: walking through a million episodes must not hold them all. */
const KEPT_PAGES = 8;

/** The part of a search that a list needs. */
export type EpisodeSource = Pick<EpisodeSearch, 'search' | 'facets'>;

/** A page of the order, as it was answered. */
interface Page {
  readonly episodes: readonly EpisodeSummary[];
  readonly next: string | null;
}

/**
 * The rows of one filter by number, as far as they have been read, a page at a time by keyset. The first page stays as it was
 * first read, so rows keep their numbers while new episodes come in.
 */
export class EpisodePager {
  readonly filter: Filter;
  readonly #pages = new Map<number, readonly EpisodeSummary[]>();
  /** Cursor before each page that has been reached; the first page has none. */
  readonly #cursors: (string | null)[] = [null];
  /** How many rows there are, once the last page has been read. */
  #length: number | null = null;

  constructor(filter: Filter) {
    this.filter = filter;
  }

  get length(): number | null {
    return this.#length;
  }

  /** The row; null beyond the last one, undefined while its page is not here. */
  row(index: number): EpisodeSummary | null | undefined {
    if (index < 0 || (this.#length !== null && index >= this.#length)) return null;
    return this.#pages.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS];
  }

  /** The page to ask for next on the way to a row: the farthest that can be, up to the row's own. */
  next(index: number): { readonly page: number; readonly after: string | null } {
    const page = Math.min(Math.floor(index / PAGE_ROWS), this.#cursors.length - 1);
    return { page, after: this.#cursors[page] ?? null };
  }

  /** A page has been answered. */
  take(page: number, { episodes, next }: Page): void {
    this.#pages.set(page, episodes);
    if (next === null) this.#length = page * PAGE_ROWS + episodes.length;
    else this.#cursors[page + 1] = next;
    for (const old of this.#pages.keys()) {
      if (this.#pages.size <= KEPT_PAGES) break;
      if (old !== 0 && old !== page) this.#pages.delete(old);
    }
  }

  /** Whether a first page would change nothing. */
  startsAs({ episodes, next }: Page): boolean {
    const first = this.#pages.get(0);
    const isLast = this.#length !== null && this.#length <= PAGE_ROWS;
    return (
      first?.length === episodes.length &&
      isLast === (next === null) &&
      first.every(({ id }, row) => id === episodes[row]?.id)
    );
  }
}
