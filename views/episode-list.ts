import type { EpisodeSummary } from '../src/domain/episode.ts';
import { errorText } from '../src/domain/error.ts';
import { FAILURE_TYPES, type FailureType } from '../src/domain/failure.ts';
import { type Filter, parseFilter, type SavedFilters } from '../src/store/filter.ts';
import { allOf, type FilterNode, NEWEST_FIRST } from '../src/store/filter-tree.ts';
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
  /** Why the episodes cannot be read, or null. */
  readonly error: string | null;
}

/** Counting a million episodes takes milliseconds: once a second is enough. */
const COUNT_EVERY_MS = 1000;
/** How far `last` walks where the order cannot simply be turned round. */
const WALK_ROWS = 50 * PAGE_ROWS;

const EVERYTHING: Filter = { where: allOf([]), sort: NEWEST_FIRST };

/** The episode list: a window on the filtered episodes that follows new ones until the user moves. */
export class EpisodeList {
  #base: Filter = EVERYTHING;
  #pager = new EpisodePager(EVERYTHING);
  /** Rows are numbered from the end of the order: the list was sent to its last row. */
  #fromEnd = false;
  /** Episodes that matched when the list stopped following. */
  #frozenTotal = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
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
    error: null,
  };

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

  /** Rows of the window. */
  resize(height: number): void {
    this.#height = Math.max(1, height);
  }

  /** Reads what may have changed. `now` in ms. */
  refresh(source: EpisodeSource, now: number): void {
    this.#guarded(() => {
      if (now - this.#countedAt >= COUNT_EVERY_MS) this.#count(source, now);
      if (this.#view.following) this.#pager = new EpisodePager(this.#filter());
      this.#show(source, this.#view.selected);
    });
  }

  /** Moves the pointer; the list stops following, so that rows keep still under it. */
  move(source: EpisodeSource, by: number): void {
    this.#guarded(() => {
      this.#freeze(source);
      this.#show(source, Math.max(0, this.#view.selected + by));
    });
  }

  /** To the first row, following what is new. */
  toFirst(source: EpisodeSource, now: number): void {
    this.#restart({});
    this.refresh(source, now);
  }

  /** To the last row. */
  toLast(source: EpisodeSource): void {
    this.#guarded(() => {
      this.#freeze(source);
      const last = Math.max(0, this.#frozenTotal - 1);
      const { sort } = this.#base;
      if (sort.field !== 'id') return this.#show(source, Math.min(last, this.#view.selected + WALK_ROWS));
      this.#fromEnd = true;
      const turned = { ...sort, descending: !sort.descending };
      this.#pager = new EpisodePager({ ...this.#filter(), sort: turned });
      return this.#show(source, last);
    });
  }

  /** Shows what a filter text matches, in which `@name` stands for a saved one. Throws `filter-invalid`. */
  filterBy(text: string, saved?: SavedFilters): void {
    this.#base = parseFilter(text, saved);
    this.#restart({ filterText: text.trim() });
  }

  /** Shows only the next outcome that occurs, then all again. */
  nextFailure(): void {
    const { counts, failure } = this.#view;
    const later = OUTCOMES.slice(failure === null ? 0 : OUTCOMES.indexOf(failure) + 1);
    this.#restart({ failure: later.find((outcome) => (counts[outcome] ?? 0) > 0) ?? null });
  }

  /** Shows all episodes. */
  clear(): void {
    this.#base = EVERYTHING;
    this.#restart({ filterText: '', failure: null });
  }

  #restart(change: Partial<EpisodeListView>): void {
    this.#fromEnd = false;
    // The rows of before must not stand under the new filter until the database has been read.
    const empty = { rows: [], total: 0, fresh: 0, top: 0, selected: 0 };
    this.#view = { ...this.#view, ...change, ...empty, following: true };
    this.#pager = new EpisodePager(this.#filter());
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

  #count(source: EpisodeSource, now: number): void {
    const total = source.countEpisodes(this.#filter());
    const { following } = this.#view;
    const fresh = following ? 0 : Math.max(0, total - this.#frozenTotal);
    this.#view = { ...this.#view, total, fresh, counts: source.failureCounts(this.#base) };
    this.#countedAt = now;
  }

  #freeze(source: EpisodeSource): void {
    if (!this.#view.following) return;
    this.#frozenTotal = source.countEpisodes(this.#filter());
    this.#view = { ...this.#view, following: false, fresh: 0, total: this.#frozenTotal };
  }

  /** Brings `wanted`, or the last row before it that exists, into the window. */
  #show(source: EpisodeSource, wanted: number): void {
    const known = this.#view.following ? this.#view.total : this.#frozenTotal;
    // The count is older than the rows while the list follows: a row that is there counts.
    let selected = wanted;
    if (this.#row(source, wanted) === null) selected = Math.max(0, Math.min(wanted, known - 1));
    const top = scrollTo(selected, this.#view.top, this.#height);
    const rows: EpisodeSummary[] = [];
    for (let index = top; index < top + this.#height; index += 1) {
      const row = this.#row(source, index);
      if (row === null) break;
      rows.push(row);
    }
    this.#view = { ...this.#view, rows, top, selected, total: Math.max(this.#view.total, rows.length) };
  }

  #row(source: EpisodeSource, index: number): EpisodeSummary | null {
    return this.#pager.row(source, this.#fromEnd ? this.#frozenTotal - 1 - index : index);
  }

  /** A database that cannot be read must not take the screen down: the list says why it is empty. */
  #guarded(read: () => void): void {
    try {
      read();
      if (this.#view.error !== null) this.#view = { ...this.#view, error: null };
    } catch (thrown) {
      this.#view = { ...this.#view, rows: [], error: errorText(thrown) };
    }
  }
}
