import type { EpisodeSummary } from '../src/domain/episode.ts';
import type { StoredEpisode } from '../src/store/queries.ts';
import { nextMarked, nextTurn, type StepMark } from '../src/store/step-figures.ts';
import { type StepSource, WholeEpisode } from './step-source.ts';

/** Where the user is in an episode: a step, and how far its details are scrolled. */
export class ReplayCursor {
  readonly steps: StepSource;
  #position = 0;
  #scroll = 0;
  #search = '';
  /** Goes up with every move: what was looked for before it is not gone to any more. */
  #moves = 0;

  constructor(steps: StepSource | StoredEpisode) {
    this.steps = 'body' in steps ? new WholeEpisode(steps) : steps;
  }

  get episode(): { readonly summary: EpisodeSummary } {
    return this.steps;
  }

  /** Steps, and one more place for what was seen after the last. */
  get places(): number {
    return this.steps.count + 1;
  }

  /** From 0; `places - 1` is the end. */
  get position(): number {
    return this.#position;
  }

  /** Rows of the details above the window. */
  get scroll(): number {
    return this.#scroll;
  }

  move(by: number): void {
    this.moveTo(this.#position + by);
  }

  moveTo(position: number): void {
    this.#moves += 1;
    this.#position = Math.max(0, Math.min(this.places - 1, position));
    this.#scroll = 0;
  }

  /** Text that is looked for in what was seen and done. */
  get search(): string {
    return this.#search;
  }

  /** Looks for a text, from here on; `onFound` is told whether a step has it. */
  find(text: string, onFound: (found: boolean) => void): void {
    this.#search = text.trim();
    if (this.#search === '') return;
    // From the place before, so that this one is the first to be looked at; that one itself is looked at then.
    this.#lookFor(this.#position - 1, 1, (found) => (found ? onFound(true) : this.nextMatch(1, onFound)));
  }

  /** Goes to the next place with the text, or the one before; round the end. */
  nextMatch(direction: 1 | -1, onFound: (found: boolean) => void): void {
    if (this.#search === '') onFound(false);
    else this.#lookFor(this.#position, direction, onFound);
  }

  #lookFor(from: number, direction: 1 | -1, onFound: (found: boolean) => void): void {
    const moves = this.#moves;
    this.steps.find({ text: this.#search, from, direction }, (place) => {
      // The user has gone on meanwhile.
      if (moves !== this.#moves) return;
      if (place !== null) this.moveTo(place);
      onFound(place !== null);
    });
  }

  /** Goes to the next step with any of some marks, or the one before. Null while that is not known yet. */
  nextMarked(wanted: readonly StepMark[], direction: 1 | -1): boolean | null {
    const { figures } = this.steps;
    if (figures === null) return null;
    const step = nextMarked(figures, wanted, this.#position, direction);
    if (step !== null) this.moveTo(step);
    return step !== null;
  }

  /** Goes to the next step of the agent that acts in this one, or the one before. Null while that is not known yet. */
  nextTurn(direction: 1 | -1): boolean | null {
    const { figures } = this.steps;
    if (figures === null) return null;
    const step = nextTurn(figures, this.#position, direction);
    if (step !== null) this.moveTo(step);
    return step !== null;
  }

  /** Scrolls the details so that a window of `height` rows stays within `total`. */
  scrollBy(by: number, total: number, height: number): void {
    this.#scroll = Math.max(0, Math.min(this.#scroll + by, total - height));
  }
}
