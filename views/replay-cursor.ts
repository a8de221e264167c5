import { type EpisodeBody, resolveLines, type StepRecord } from '../src/domain/episode.ts';
import type { StoredEpisode } from '../src/store/queries.ts';

/** Where the user is in an episode: a step, and how far its details are scrolled. */
export class ReplayCursor {
  readonly episode: StoredEpisode;
  #position = 0;
  #scroll = 0;

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
