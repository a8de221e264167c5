import type { EpisodeSummary } from '../domain/episode.ts';
import type { EpisodeFacets } from './columns/facets.ts';
import { openDatabaseReadOnly } from './database.ts';
import { EpisodeFinder, type EpisodeMatches, type PageOptions } from './episode-finder.ts';
import type { Filter, SavedFilters } from './filter.ts';
import { type Completion, completeFilter } from './filter-completion.ts';
import type { FilterNode } from './filter-tree.ts';
import type { RunPaths } from './run-directory.ts';
import { RunText } from './run-text.ts';
import { storeError } from './store-error.ts';

/** What a search found, and how long that took where it was done, in ms. */
export interface SearchAnswer extends EpisodeMatches {
  readonly ms: number;
}

/** The first episode of a filter's order; null when none matches. */
export interface FirstEpisode {
  readonly episode: EpisodeSummary | null;
}

/** A question to a run's index. */
export type Question =
  | { readonly kind: 'search'; readonly filter: Filter; readonly page: PageOptions }
  | { readonly kind: 'facets'; readonly where: FilterNode }
  | { readonly kind: 'first'; readonly filter: Filter }
  | {
      readonly kind: 'complete';
      readonly text: string;
      readonly cursor: number;
      readonly saved: SavedFilters;
    };

/** Its answer, with the kind of the question. */
export type Answer =
  | { readonly kind: 'search'; readonly found: SearchAnswer }
  | { readonly kind: 'facets'; readonly found: EpisodeFacets }
  | { readonly kind: 'first'; readonly found: FirstEpisode }
  | { readonly kind: 'complete'; readonly found: Completion };

/** Answers questions of a run's index, on the thread that calls. */
export class SearchDesk {
  readonly #paths: RunPaths;
  readonly #database: ReturnType<typeof openDatabaseReadOnly>;
  readonly #text: RunText;
  readonly #finder: EpisodeFinder;

  /** `now` in ms since the epoch. Throws `store-failed` without an index, `run-too-new` for one of a newer lab. */
  constructor(paths: RunPaths, now: () => number = Date.now) {
    this.#paths = paths;
    this.#database = openDatabaseReadOnly(paths.database);
    this.#text = new RunText(paths.text);
    this.#finder = new EpisodeFinder(this.#database, now, this.#text);
  }

  /** Throws what reading the index throws, or `usage` for a page that cannot be continued. */
  answer(question: Question): Answer {
    try {
      switch (question.kind) {
        case 'search': {
          const started = performance.now();
          const found = this.#finder.search(question.filter, question.page);
          return { kind: 'search', found: { ...found, ms: performance.now() - started } };
        }
        case 'facets':
          return { kind: 'facets', found: this.#finder.facets(question.where) };
        case 'first': {
          const [episode = null] = this.#finder.search(question.filter, { limit: 1 }).episodes;
          return { kind: 'first', found: { episode } };
        }
        case 'complete':
          return {
            kind: 'complete',
            found: completeFilter(question.text, question.cursor, {
              finder: this.#finder,
              saved: question.saved,
            }),
          };
      }
    } catch (thrown) {
      throw storeError(thrown, 'read the index', this.#paths.database);
    }
  }

  /** Takes in what the run has added, so that the next question need not. What cannot be read is the next question's to say. */
  follow(): void {
    try {
      this.#finder.follow();
    } catch {
      // It is read again with the next question, which is told.
    }
  }

  close(): void {
    this.#text.close();
    this.#database.close();
  }
}
