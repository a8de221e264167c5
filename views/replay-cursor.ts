import { type EpisodeBody, resolveLines, type StepRecord } from '../src/domain/episode.ts';
import { formatAction } from '../src/domain/space.ts';
import type { StoredEpisode } from '../src/store/queries.ts';

/** Where the user is in an episode: a step, and how far its details are scrolled. */
export class ReplayCursor {
  readonly episode: StoredEpisode;
  #position = 0;
  #scroll = 0;
  #search = '';

  constructor(episode: StoredEpisode) {
    this.episode = episode;
  }

  /** Steps, and one more place for what was seen after the last. */
  get places(): number {
    return this.episode.body.steps.length + 1;
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
    this.#position = Math.max(0, Math.min(this.places - 1, position));
    this.#scroll = 0;
  }

  /** Text that is looked for in what was seen and done. */
  get search(): string {
    return this.#search;
  }

  /** Looks for a text, from here on. False when no step has it. */
  find(text: string): boolean {
    this.#search = text.trim();
    if (this.#search === '' || this.#matches(this.#position)) return true;
    return this.nextMatch(1);
  }

  /** Goes to the next place with the text, or the one before; round the end. False when there is no other. */
  nextMatch(direction: 1 | -1): boolean {
    if (this.#search === '') return false;
    for (let away = 1; away < this.places; away++) {
      const place = (this.#position + direction * away + this.places) % this.places;
      if (!this.#matches(place)) continue;
      this.moveTo(place);
      return true;
    }
    return false;
  }

  /** Goes to the next step that was paid or had no effect, or the one before. False when there is none. */
  nextNotable(direction: 1 | -1): boolean {
    const { steps } = this.episode.body;
    for (let place = this.#position + direction; place >= 0 && place < steps.length; place += direction) {
      const step = steps[place];
      if (step === undefined || (step.effective && step.parts.length === 0)) continue;
      this.moveTo(place);
      return true;
    }
    return false;
  }

  #matches(place: number): boolean {
    const { body } = this.episode;
    const { step, observation } = placeAt(body, place);
    const done = step === null ? [] : [formatAction(step.action)];
    const wanted = this.#search.toLowerCase();
    // Lines that were there before are found where they came up.
    const seen = observation.filter(({ fresh }) => fresh || place === 0).map(({ text }) => text);
    return [...done, ...seen].some((text) => text.toLowerCase().includes(wanted));
  }

  /** Scrolls the details so that a window of `height` rows stays within `total`. */
  scrollBy(by: number, total: number, height: number): void {
    this.#scroll = Math.max(0, Math.min(this.#scroll + by, total - height));
  }
}

/** What is shown at one place of an episode. */
export interface Place {
  /** Null at the end. */
  readonly step: StepRecord | null;
  readonly observation: readonly ObservationLine[];
}

interface ObservationLine {
  readonly text: string;
  /** Was not there in the observation before. */
  readonly fresh: boolean;
}

/** The step at a position and what the agent saw before it; at the end, what it saw last. */
export function placeAt(body: EpisodeBody, position: number): Place {
  const step = body.steps[position] ?? null;
  const seen = new Set(body.steps[position - 1]?.observation ?? step?.observation ?? []);
  const indices = step?.observation ?? body.finalObservation;
  const texts = resolveLines(body, indices);
  return {
    step,
    observation: indices.map((line, index) => ({ text: texts[index] ?? '', fresh: !seen.has(line) })),
  };
}
