import { allOf } from '../src/store/filter-tree.ts';
import { runPaths } from '../src/store/run-directory.ts';
import { REMEMBERED_SCREENS, ViewMemory, type ViewState } from '../src/store/view-state.ts';
import { savedFor } from './filter-actions.ts';
import type { MainScreen, Session } from './session.ts';

/** A view that has changed is written this often at most. */
const EVERY_MS = 10_000;
/** Rows that the list walks to come back to an episode: farther down it begins at the top. */
const MOST_ROWS = 2000;

/** Opens a run as it was left, and remembers how it is left. */
export class Remember {
  readonly #session: Session;
  readonly #memory: ViewMemory;
  #keptAt = 0;

  constructor(session: Session, runId: string) {
    this.#session = session;
    this.#memory = new ViewMemory(runPaths(session.options.runsDirectory, runId));
  }

  /** Makes the session, which has just opened the run, as it was left. */
  restore(): void {
    const state = this.#memory.read();
    if (state !== null) this.#apply(state);
    this.#memory.assume(this.#state());
  }

  /** Writes what has changed, now and then. `now` in ms. */
  tick(now: number): void {
    if (now - this.#keptAt < EVERY_MS) return;
    this.#keptAt = now;
    void this.#memory.keep(this.#state());
  }

  /** Writes what has changed: the run is left. */
  leave(): void {
    this.#memory.keepNow(this.#state());
  }

  #state(): ViewState {
    const { list, columns, showsFacets, charts } = this.#session;
    return {
      screen: this.#session.within.findLast(isRemembered) ?? 'overview',
      filter: list.view.filterText,
      outcome: list.view.failure,
      columns: columns === null ? null : [...columns],
      facets: showsFacets,
      selected: list.view.following ? null : (list.selected?.id ?? null),
      charts: charts.state,
    };
  }

  #apply(state: ViewState): void {
    const session = this.#session;
    session.screen = state.screen;
    session.columns = state.columns;
    session.showsFacets = state.facets;
    session.charts.restore(state.charts);
    if (state.filter.includes('@')) void this.#applyLater(state);
    else this.#applyList(state);
  }

  /** A filter may stand for what is pinned or noted: that has to be known first. */
  async #applyLater(state: ViewState): Promise<void> {
    const { run, marks, list } = this.#session;
    await marks?.read();
    if (this.#session.run !== run || list.view.filterText !== '' || !list.view.following) return;
    this.#applyList(state);
    this.#memory.assume(this.#state());
    this.#session.reread();
  }

  #applyList({ filter, outcome, selected }: ViewState): void {
    const session = this.#session;
    try {
      session.list.filterBy(filter, savedFor(session, filter));
      session.list.only(outcome);
    } catch {
      // A saved filter that it names may be gone by now.
      session.list.clear();
    }
    if (selected !== null) void this.#select(selected);
  }

  /** Moves the pointer to an episode, if it is not too far down. */
  async #select(id: string): Promise<void> {
    const { list, run } = this.#session;
    if (run === null || list.sort.field !== 'id' || !/^e\d+$/u.test(id)) return;
    const comparison = list.sort.descending ? '>' : '<';
    const before = { kind: 'compare', field: 'id', comparison, value: Number(id.slice(1)) } as const;
    try {
      const filter = { where: allOf([list.where, before]), sort: list.sort };
      const found = await run.search.search(filter, { limit: 1 });
      const isUntouched = this.#session.run === run && list.view.following;
      if (found !== null && found.count <= MOST_ROWS && isUntouched) list.move(run.search, found.count);
    } catch {
      // The list itself says why it cannot be read.
    }
  }
}

function isRemembered(screen: MainScreen): screen is ViewState['screen'] {
  return REMEMBERED_SCREENS.some((name) => name === screen);
}
