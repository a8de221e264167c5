import { errorText } from '../src/domain/error.ts';
import type { EpisodeSearch } from '../src/store/episode-search.ts';
import type { SavedFilters } from '../src/store/filter.ts';

type Completion = NonNullable<Awaited<ReturnType<EpisodeSearch['complete']>>>;

/** What the rows below the filter line show. */
export interface CompletionView {
  readonly suggestions: Completion['suggestions'];
  /** Number of the one that stands in the line, or -1. */
  readonly selected: number;
  /** What is shown is of an older text: the answer for the present one has not come yet. */
  readonly isAsking: boolean;
  /** Why nothing can be suggested, or null. */
  readonly problem: string | null;
}

export interface FilterCompletionOptions {
  readonly search: Pick<EpisodeSearch, 'complete'>;
  readonly saved: SavedFilters;
  /** A suggestion was taken: the line with it. */
  readonly onText: (text: string) => void;
  /** An answer has come. */
  readonly onChange: () => void;
}

/** What may be typed at the end of the filter line, with how many episodes it would match; asked for beside the drawing. */
export class FilterCompletion {
  readonly #options: FilterCompletionOptions;
  /** The text that the suggestions belong to, and which part of it they take the place of. */
  #base = '';
  #completion: Pick<Completion, 'from' | 'to'> = { from: 0, to: 0 };
  #questions = 0;
  /** Moves that were made before there was anything to move through. */
  #moves = 0;
  #view: CompletionView = { suggestions: [], selected: -1, isAsking: false, problem: null };

  constructor(options: FilterCompletionOptions) {
    this.#options = options;
  }

  get view(): CompletionView {
    return this.#view;
  }

  /** Asks what may follow a text. The suggestions of before stay until the answer is there. */
  ask(text: string): void {
    this.#base = text;
    this.#moves = 0;
    this.#questions += 1;
    this.#view = { ...this.#view, selected: -1, isAsking: true };
    void this.#answer(text, this.#questions);
  }

  /** Puts the next suggestion into the line, or with -1 the one before; where there is only one, asks what may follow it. */
  move(by: 1 | -1): void {
    if (this.#view.isAsking) {
      this.#moves += by;
      return;
    }
    const { suggestions, selected } = this.#view;
    const isSettled = suggestions.length === 1 && selected === 0;
    if (isSettled) this.ask(this.#textWith(0));
    else this.#select(by);
  }

  async #answer(text: string, question: number): Promise<void> {
    const { search, saved, onChange } = this.#options;
    try {
      const found = await search.complete(text, text.length, saved);
      // What was typed meanwhile has asked anew; or the search was closed.
      if (question !== this.#questions || found === null) return;
      this.#completion = found;
      this.#view = { suggestions: found.suggestions, selected: -1, isAsking: false, problem: null };
      this.#select(this.#moves);
    } catch (thrown) {
      if (question !== this.#questions) return;
      this.#view = { suggestions: [], selected: -1, isAsking: false, problem: errorText(thrown) };
    }
    onChange();
  }

  #select(by: number): void {
    const { suggestions, selected } = this.#view;
    const { length } = suggestions;
    if (by === 0 || length === 0) return;
    const from = selected < 0 && by > 0 ? -1 : Math.max(0, selected);
    const next = (((from + by) % length) + length) % length;
    this.#view = { ...this.#view, selected: next };
    this.#options.onText(this.#textWith(next));
  }

  #textWith(index: number): string {
    const { from, to } = this.#completion;
    const text = this.#view.suggestions[index]?.text ?? '';
    return this.#base.slice(0, from) + text + this.#base.slice(to);
  }
}
