import { allOf, NEWEST_FIRST } from './filter-tree.ts';
import type { RunPaths } from './run-directory.ts';
import type { Question } from './search-desk.ts';

/** Who answers questions of one run. */
interface Answering {
  ask(question: Question): Promise<unknown>;
  close(): Promise<void>;
}

/** What a list of all episodes asks first: answering it reads the columns. */
const FIRST: Question = {
  kind: 'search',
  filter: { where: allOf([]), sort: NEWEST_FIRST },
  page: { limit: 1 },
};

/**
 * Has the index of a run opened and read before anybody asks for it, while the program is still being loaded. One at a time: the
 * columns of a million episodes are tens of MiB.
 */
export class SearchAhead<Desk extends Answering> {
  readonly #open: (paths: RunPaths) => Desk;
  #ahead: { readonly database: string; readonly desk: Desk } | null = null;

  constructor(open: (paths: RunPaths) => Desk) {
    this.#open = open;
  }

  /** Opens that of a run, and closes the one before. */
  begin(paths: RunPaths): void {
    this.drop();
    const desk = this.#open(paths);
    // What is wrong with an index is told to whoever asks for it.
    desk.ask(FIRST).catch(() => undefined);
    this.#ahead = { database: paths.database, desk };
  }

  /** The one of a run, which is the caller's from now on; null when another or none was opened. */
  take({ database }: RunPaths): Desk | null {
    const ahead = this.#ahead;
    if (ahead?.database !== database) return null;
    this.#ahead = null;
    return ahead.desk;
  }

  /** Closes one that nobody has taken. */
  drop(): void {
    void this.#ahead?.desk.close();
    this.#ahead = null;
  }
}
