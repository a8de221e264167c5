import { errorText } from '../src/domain/error.ts';
import type { EpisodeSearch } from '../src/store/episode-search.ts';

type Facets = NonNullable<Awaited<ReturnType<EpisodeSearch['facets']>>>;
type Where = Parameters<EpisodeSearch['facets']>[0];

/** What is shown beside the episode list. */
export interface FacetView {
  readonly facets: Facets | null;
  /** They are of another filter than the list: those of its own have not come yet. */
  readonly isOld: boolean;
  /** Why they cannot be counted, or null. */
  readonly problem: string | null;
}

/** Counting all values of a million episodes takes tens of milliseconds of another core: every other second is enough. */
const EVERY_MS = 2000;
const NOTHING: FacetView = { facets: null, isOld: false, problem: null };

/** How the episodes of the list's filter are distributed; asked for beside the drawing. */
export class FacetDesk {
  #view: FacetView = NOTHING;
  /** The filter that was asked about last, as text. */
  #filter = '';
  #askedAt = Number.NEGATIVE_INFINITY;
  #questions = 0;

  get view(): FacetView {
    return this.#view;
  }

  /** Forgets the run that it was of. */
  clear(): void {
    this.#questions += 1;
    this.#view = NOTHING;
    this.#filter = '';
    this.#askedAt = Number.NEGATIVE_INFINITY;
  }

  /** Asks about a filter when it is another one, or what is known is old. `now` in ms. */
  refresh(search: Pick<EpisodeSearch, 'facets'>, where: Where, now: number, onChange: () => void): void {
    const filter = JSON.stringify(where);
    const isOther = filter !== this.#filter;
    if (!isOther && now - this.#askedAt < EVERY_MS) return;
    this.#filter = filter;
    this.#askedAt = now;
    this.#questions += 1;
    this.#view = { ...this.#view, isOld: this.#view.isOld || isOther };
    void this.#answer(search.facets(where), this.#questions, onChange);
  }

  async #answer(asked: Promise<Facets | null>, question: number, onChange: () => void): Promise<void> {
    try {
      const facets = await asked;
      if (question !== this.#questions || facets === null) return;
      this.#view = { facets, isOld: false, problem: null };
    } catch (thrown) {
      if (question !== this.#questions) return;
      this.#view = { facets: null, isOld: false, problem: errorText(thrown) };
    }
    onChange();
  }
}
