import { programFile, RUNS_FROM_SOURCE } from '../domain/program-files.ts';
import type { EpisodeFacets } from './columns/facets.ts';
import type { PageOptions } from './episode-finder.ts';
import type { Filter, SavedFilters } from './filter.ts';
import type { Completion } from './filter-completion.ts';
import type { FilterNode } from './filter-tree.ts';
import type { RunPaths } from './run-directory.ts';
import { SearchAhead } from './search-ahead.ts';
import {
  type Answer,
  type FirstEpisode,
  type Question,
  type SearchAnswer,
  SearchDesk,
} from './search-desk.ts';
import { SearchThread } from './thread-search.ts';

/**
 * Asks a run's index without holding up who asks: in the built lab a thread of its own answers. Of questions of one kind the
 * newest wins: one that a newer one took the place of before it was sent is answered with null. Rejects with `store-failed`
 * when the index cannot be read, and with what the question itself is refused for.
 */
export interface EpisodeSearch {
  /** A page in the filter's order, and the count of all. Rejects with `usage` for a page that cannot be continued. */
  search(filter: Filter, page: PageOptions): Promise<SearchAnswer | null>;
  facets(where: FilterNode): Promise<EpisodeFacets | null>;
  /** The first episode in the filter's order; a question of its own kind, which those of a list do not take the place of. */
  first(filter: Filter): Promise<FirstEpisode | null>;
  /** What may be typed at a place (an index) of a filter text. */
  complete(text: string, cursor: number, saved: SavedFilters): Promise<Completion | null>;
  /** Ends it once what was sent is answered; what was not sent is answered with null. */
  close(): Promise<void>;
}

/** Opens a run's index for questions. It is read with the first one: what is wrong with it rejects that. */
export function openEpisodeSearch(paths: RunPaths): EpisodeSearch {
  // Node 20 cannot start a thread from a TypeScript file: from source the caller's thread answers.
  if (RUNS_FROM_SOURCE) return new QueuedSearch(directly(paths));
  const thread = ahead.take(paths) ?? startThread(paths);
  return new QueuedSearch({
    ask: async (question) => await thread.ask(question),
    close: async () => await thread.close(),
  });
}

function startThread(paths: RunPaths): SearchThread {
  return new SearchThread(paths, programFile('searchThread'));
}

/** What was opened by `openAhead`. */
const ahead = new SearchAhead(startThread);

/** Reads a run's index before it is asked for: `openEpisodeSearch` then has it at once. Where threads answer; one run at a time. */
export function openAhead(paths: RunPaths): void {
  if (!RUNS_FROM_SOURCE) ahead.begin(paths);
}

/** Lets go what `openAhead` has opened and nobody has asked for. */
export function closeAhead(): void {
  ahead.drop();
}

/** Who answers. */
interface Desk {
  ask(question: Question): Promise<Answer>;
  close(): Promise<void>;
}

function directly(paths: RunPaths): Desk {
  let desk: SearchDesk | null = null;
  return {
    ask: async (question) => {
      desk ??= new SearchDesk(paths);
      return await Promise.resolve(desk.answer(question));
    },
    close: async () => {
      desk?.close();
      await Promise.resolve();
    },
  };
}

/** Sends one question of a kind at a time, and keeps the newest of those that come meanwhile. */
export class QueuedSearch implements EpisodeSearch {
  readonly #desk: Desk;
  readonly #lines = { search: new Line(), facets: new Line(), first: new Line(), complete: new Line() };

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  async search(filter: Filter, page: PageOptions): Promise<SearchAnswer | null> {
    const answer = await this.#ask({ kind: 'search', filter, page });
    return answer?.kind === 'search' ? answer.found : null;
  }

  async facets(where: FilterNode): Promise<EpisodeFacets | null> {
    const answer = await this.#ask({ kind: 'facets', where });
    return answer?.kind === 'facets' ? answer.found : null;
  }

  async first(filter: Filter): Promise<FirstEpisode | null> {
    const answer = await this.#ask({ kind: 'first', filter });
    return answer?.kind === 'first' ? answer.found : null;
  }

  async complete(text: string, cursor: number, saved: SavedFilters): Promise<Completion | null> {
    const answer = await this.#ask({ kind: 'complete', text, cursor, saved });
    return answer?.kind === 'complete' ? answer.found : null;
  }

  async close(): Promise<void> {
    for (const line of Object.values(this.#lines)) line.clear();
    await this.#desk.close();
  }

  async #ask(question: Question): Promise<Answer | null> {
    const line = this.#lines[question.kind];
    if (!(await line.turn())) return null;
    try {
      return await this.#desk.ask(question);
    } finally {
      line.next();
    }
  }
}

/** Where one is served and one waits: who comes takes the place of who waited. */
class Line {
  #isBusy = false;
  #waiting: ((served: boolean) => void) | null = null;

  /** Resolves with true when it is the caller's turn, with false when a later one has come. */
  async turn(): Promise<boolean> {
    if (!this.#isBusy) {
      this.#isBusy = true;
      return true;
    }
    this.#waiting?.(false);
    return await new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** Who was served leaves. */
  next(): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    this.#isBusy = waiting !== null;
    waiting?.(true);
  }

  /** Who waits is sent away. */
  clear(): void {
    this.#waiting?.(false);
    this.#waiting = null;
  }
}
