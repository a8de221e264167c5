import type { EpisodeSummary } from '../src/domain/episode.ts';
import { errorText } from '../src/domain/error.ts';
import { FAILURE_TYPES, type FailureType } from '../src/domain/failure.ts';
import { type Filter, parseFilter, type SavedFilters } from '../src/store/filter.ts';
import { allOf, type FilterNode, type FilterSort, NEWEST_FIRST } from '../src/store/filter-tree.ts';
import { EpisodePager, type EpisodeSource, PAGE_ROWS } from './episode-pager.ts';
import { scrollTo } from './layout.ts';

/** What `f` goes through beside all episodes. */
type Outcome = FailureType | 'success';
const OUTCOMES: readonly Outcome[] = [...FAILURE_TYPES, 'success'];

/** What the screen shows of the list. */
export interface EpisodeListView {
  /** The rows of the window. */
  readonly rows: readonly EpisodeSummary[];
  /** Number of the first row of the window, and of the selected one, from 0. */
  readonly top: number;
  readonly selected: number;
  /** Episodes that match. */
  readonly total: number;
  /** New episodes appear on top by themselves. */
  readonly following: boolean;
  /** Matching episodes that came in since the list stopped following. */
  readonly fresh: number;
  /** Matching the filter text, by failure type and `success`. */
  readonly counts: Readonly<Record<string, number>>;
  readonly filterText: string;
  readonly failure: Outcome | null;
  /** Another filter was set, and nothing is known of what it finds yet. */
  readonly isSearching: boolean;
  /** Why the episodes cannot be read, or null. */
  readonly error: string | null;
}

/** Counts of outcomes are of a whole run: once a second is enough. */
const COUNT_EVERY_MS = 1000;
/** How far `last` walks where the order cannot simply be turned round. */
const WALK_ROWS = 50 * PAGE_ROWS;

const EVERYTHING: Filter = { where: allOf([]), sort: NEWEST_FIRST };

/** Rows by number. */
interface Order {
  readonly pager: EpisodePager;
  /** Rows are numbered from the end of the pager's order: the list was sent to its last row. */
  readonly fromEnd: boolean;
  /** How many rows there are. */
  readonly total: number;
}

/** Where the pointer is sent, and what happens once its rows are there. */
interface Target {
  readonly index: number;
  readonly onShown: () => void;
}

const nothing = (): void => {};

/**
 * The episode list: a window on the filtered episodes that follows new ones until the user moves. Rows are asked for beside the
 * drawing; those that are shown stay until all of the next window are there.
 */
export class EpisodeList {
  readonly #onChange: () => void;
  #base: Filter = EVERYTHING;
  /** Null until the filter was answered for the first time. */
  #order: Order | null = null;
  #target: Target | null = null;
  /** Moves that were made before there was anything to move through. */
  #early: { readonly by: number; readonly onShown: () => void } | null = null;
  /** Goes up when what was asked before is not wanted any more. */
  #generation = 0;
  #isLooking = false;
  #isFetching = false;
  #countedAt = Number.NEGATIVE_INFINITY;
  /** Outcomes that `nextFailure` goes through. */
  #tour: Outcome[] = [];
  #height = 1;
  #view: EpisodeListView = {
    rows: [],
    top: 0,
    selected: 0,
    total: 0,
    following: true,
    fresh: 0,
    counts: {},
    filterText: '',
    failure: null,
    // Until the first answer nobody knows whether there is none.
    isSearching: true,
    error: null,
  };

  /** `onChange` is called when an answer has changed what is shown. */
  constructor(onChange: () => void = nothing) {
    this.#onChange = onChange;
  }

  get view(): EpisodeListView {
    return this.#view;
  }

  /** The episode that the pointer is on, or null in an empty list. */
  get selected(): EpisodeSummary | null {
    return this.#view.rows[this.#view.selected - this.#view.top] ?? null;
  }

  /** What is listed: the filter text and the failure type together. */
  get where(): FilterNode {
    return this.#filter().where;
  }

  /** Its order. */
  get sort(): FilterSort {
    return this.#base.sort;
  }

  /** Rows of the window. */
  resize(height: number): void {
    this.#height = Math.max(1, height);
  }

  /** Asks for what may have changed. `now` in ms. */
  refresh(source: EpisodeSource, now: number): void {
    // The window may have another height by now, and what was asked for may have gone wrong.
    if (this.#order !== null)
      this.#go(source, this.#target ?? { index: this.#view.selected, onShown: nothing });
    if (!this.#isLooking) void this.#look(source, now);
  }

  /** Moves the pointer; the list stops following, so that rows keep still under it. `onShown`: it is there. */
  move(source: EpisodeSource, by: number, onShown: () => void = nothing): void {
    if (this.#order === null) {
      this.#early = { by: by + (this.#early?.by ?? 0), onShown };
      return;
    }
    this.#freeze(this.#order);
    const from = this.#target?.index ?? this.#view.selected;
    // More than there are is asked for by going to the end.
    const index = Math.max(0, Math.min(from + by, this.#order.total - 1));
    this.#go(source, { index, onShown });
  }

  /** To the first row, following what is new. */
  toFirst(source: EpisodeSource, now: number): void {
    this.#forget();
    this.#view = { ...this.#view, following: true };
    void this.#look(source, now);
  }

  /** To the last row. */
  toLast(source: EpisodeSource): void {
    if (this.#order === null) return;
    this.#freeze(this.#order);
    const { total } = this.#order;
    const last = Math.max(0, total - 1);
    const { sort } = this.#base;
    let index = last;
    if (sort.field === 'id') {
      const turned = { ...sort, descending: !sort.descending };
      this.#order = { pager: new EpisodePager({ ...this.#filter(), sort: turned }), fromEnd: true, total };
    } else {
      index = Math.min(last, this.#view.selected + WALK_ROWS);
    }
    this.#go(source, { index, onShown: nothing });
  }

  /** Shows what a filter text matches, in which `@name` stands for a saved one. Throws `filter-invalid`. */
  filterBy(text: string, saved?: SavedFilters): void {
    this.#base = parseFilter(text, saved);
    this.#restart({ filterText: text.trim() });
  }

  /** Shows only the most frequent failure type, then the next, successes last, then all again. */
  nextFailure(): void {
    const { counts, failure } = this.#view;
    const often = (outcome: Outcome): number => counts[outcome] ?? 0;
    // Counts go on while the user goes through: the order stays that of the first press.
    if (failure === null) {
      this.#tour = FAILURE_TYPES.filter((type) => often(type) > 0).toSorted((a, b) => often(b) - often(a));
      if (often('success') > 0) this.#tour.push('success');
    }
    const place = failure === null ? 0 : this.#tour.indexOf(failure) + 1;
    this.#restart({ failure: (place === 0 && failure !== null ? null : this.#tour[place]) ?? null });
  }

  /** Shows only one outcome; all for null, or one that there is not. */
  only(outcome: string | null): void {
    this.#restart({ failure: OUTCOMES.find((one) => one === outcome) ?? null });
  }

  /** Shows all episodes. */
  clear(): void {
    // What is shown already is not asked for again: its rows would go until it was answered.
    if (this.#base === EVERYTHING && this.#view.failure === null) return;
    this.#base = EVERYTHING;
    this.#restart({ filterText: '', failure: null });
  }

  /** What was asked before is not waited for any more. */
  #forget(): void {
    this.#generation += 1;
    this.#isLooking = false;
    this.#isFetching = false;
    this.#target = null;
    this.#early = null;
  }

  #restart(change: Partial<EpisodeListView>): void {
    this.#forget();
    // The rows of before must not stand under the new filter until it is answered.
    const empty = { rows: [], total: 0, fresh: 0, top: 0, selected: 0, isSearching: true, error: null };
    this.#view = { ...this.#view, ...change, ...empty, following: true };
    this.#order = null;
    this.#countedAt = Number.NEGATIVE_INFINITY;
  }

  #filter(): Filter {
    const { failure } = this.#view;
    if (failure === null) return this.#base;
    const only = {
      kind: 'choice',
      field: 'fail',
      values: [failure === 'success' ? 'none' : failure],
    } as const;
    return { ...this.#base, where: allOf([this.#base.where, only]) };
  }

  #freeze({ total }: Order): void {
    if (!this.#view.following) return;
    this.#forget();
    this.#view = { ...this.#view, following: false, fresh: 0, total };
  }

  /** Asks for the newest page while the list follows, for the count of all otherwise, and for the counts by outcome. */
  async #look(source: EpisodeSource, now: number): Promise<void> {
    const generation = this.#generation;
    const filter = this.#filter();
    const isCounting = now - this.#countedAt >= COUNT_EVERY_MS;
    const { following } = this.#view;
    if (!following && !isCounting) return;
    this.#isLooking = true;
    if (isCounting) this.#countedAt = now;
    try {
      const found = await source.search(filter, { limit: following ? PAGE_ROWS : 1 });
      if (generation !== this.#generation) return;
      if (found !== null) {
        this.#view = { ...this.#view, isSearching: false, error: null };
        if (following) this.#follow(source, filter, found);
        else this.#countFresh(found.count);
      }
      const facets = isCounting ? await source.facets(this.#base.where) : null;
      if (generation !== this.#generation) return;
      if (facets !== null) {
        const counts = facets.failures.map(({ value, count }) => [value ?? 'success', count] as const);
        this.#view = { ...this.#view, counts: Object.fromEntries(counts) };
      }
    } catch (thrown) {
      if (generation !== this.#generation) return;
      this.#fail(thrown);
    }
    this.#isLooking = false;
    this.#onChange();
  }

  #follow(source: EpisodeSource, filter: Filter, found: Found): void {
    if (this.#order === null || this.#order.fromEnd || !this.#order.pager.startsAs(found)) {
      const pager = new EpisodePager(filter);
      pager.take(0, found);
      this.#order = { pager, fromEnd: false, total: found.count };
    }
    this.#order = { ...this.#order, total: found.count };
    this.#view = { ...this.#view, total: found.count, fresh: 0 };
    this.#go(source, { index: 0, onShown: nothing });
    const early = this.#early;
    this.#early = null;
    if (early !== null) this.move(source, early.by, early.onShown);
  }

  #countFresh(total: number): void {
    const fresh = Math.max(0, total - (this.#order?.total ?? 0));
    this.#view = { ...this.#view, total, fresh };
  }

  #go(source: EpisodeSource, target: Target): void {
    this.#target = target;
    if (this.#missing() !== null && !this.#isFetching) void this.#fetch(source);
  }

  /** Asks for pages until the target can be shown. */
  async #fetch(source: EpisodeSource): Promise<void> {
    const generation = this.#generation;
    this.#isFetching = true;
    try {
      for (let index = this.#missing(); index !== null && this.#order !== null; index = this.#missing()) {
        const { pager } = this.#order;
        const { page, after } = pager.next(index);
        // One after the other: where a page begins is known from the one before.
        // oxlint-disable-next-line no-await-in-loop
        const found = await source.search(pager.filter, { limit: PAGE_ROWS, after });
        if (generation !== this.#generation) return;
        // Another question took its place: the next refresh asks again.
        if (found === null) break;
        pager.take(page, found);
      }
    } catch (thrown) {
      if (generation !== this.#generation) return;
      this.#fail(thrown);
    }
    this.#isFetching = false;
    this.#onChange();
  }

  /** Shows the target when all rows of its window are there; otherwise says which row is not, by the pager's number. */
  #missing(): number | null {
    while (this.#target !== null && this.#order !== null) {
      const { pager, fromEnd, total } = this.#order;
      const selected = Math.max(0, Math.min(this.#target.index, total - 1));
      const top = scrollTo(selected, this.#view.top, this.#height);
      const rows: EpisodeSummary[] = [];
      let isShort = false;
      for (let index = top; index < Math.min(total, top + this.#height) && !isShort; index += 1) {
        const number = fromEnd ? total - 1 - index : index;
        const row = pager.row(number);
        if (row === undefined) return number;
        if (row === null) isShort = true;
        else rows.push(row);
      }
      if (!isShort) return this.#shown({ rows, top, selected });
      // Fewer than were counted: some were removed since.
      this.#order = { ...this.#order, total: Math.min(total - 1, pager.length ?? total) };
    }
    return null;
  }

  #shown(window: Pick<EpisodeListView, 'rows' | 'top' | 'selected'>): null {
    const onShown = this.#target?.onShown;
    this.#target = null;
    this.#view = { ...this.#view, ...window };
    onShown?.();
    return null;
  }

  /** An index that cannot be read must not take the screen down: the list says why it is empty. */
  #fail(thrown: unknown): void {
    this.#view = { ...this.#view, rows: [], isSearching: false, error: errorText(thrown) };
  }
}

type Found = NonNullable<Awaited<ReturnType<EpisodeSource['search']>>>;
