import { errorText } from '../src/domain/error.ts';
import type { EpisodeSearch } from '../src/store/episode-search.ts';
import type { SavedFilters } from '../src/store/filter.ts';
import { type EditedLine, lineOf } from './line-editor.ts';

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
  /** A suggestion was taken: the line with it, the cursor behind it. */
  readonly onLine: (line: EditedLine) => void;
  /** An answer has come. */
  readonly onChange: () => void;
}

/** What may be typed at the cursor of the filter line, with how many episodes it would match; asked for beside the drawing. */
export class FilterCompletion {
  readonly #options: FilterCompletionOptions;
  /** The line that the suggestions belong to, and which part of it they take the place of. */
  #base = lineOf('');
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

  /** Asks what may stand at the cursor of a line. The suggestions of before stay until the answer is there. */
  ask(line: EditedLine): void {
    this.#base = line;
    this.#moves = 0;
    this.#questions += 1;
    this.#view = { ...this.#view, selected: -1, isAsking: true };
    void this.#answer(line, this.#questions);
  }

  /** Puts the next suggestion into the line, or with -1 the one before; where there is only one, asks what may follow it. */
  move(by: 1 | -1): void {
    if (this.#view.isAsking) {
      this.#moves += by;
      return;
    }
    const { suggestions, selected } = this.#view;
    const isSettled = suggestions.length === 1 && selected === 0;
    if (isSettled) this.ask(this.#lineWith(0));
    else this.#select(by);
  }

  async #answer({ text, cursor }: EditedLine, question: number): Promise<void> {
    const { search, saved, onChange } = this.#options;
    try {
      const found = await search.complete(text, cursor, saved);
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
    this.#options.onLine(this.#lineWith(next));
  }

  #lineWith(index: number): EditedLine {
    const { from, to } = this.#completion;
    const before = this.#base.text.slice(0, from) + (this.#view.suggestions[index]?.text ?? '');
    return { text: before + this.#base.text.slice(to), cursor: before.length };
  }
}
