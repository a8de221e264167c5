import { resolveLines } from '../domain/episode.ts';
import type { ExecutedStep } from '../protocol/replay.ts';
import type { LongEpisode, StepPage } from '../store/long-episode.ts';
import { type Ending, endingOf } from './align.ts';
import { type RecordedExecution, recordedEnd, recordedStep } from './recorded.ts';

/** One side of a comparison, step by step. */
export interface Side {
  /** How many there are. */
  readonly steps: number;
  /** A step by its number from 0; undefined beyond the last one. May throw where it is read. */
  step(index: number): ExecutedStep | undefined;
  ending(): Ending;
}

/** A stored episode, of which a page at a time is in memory: to be gone through in order. Throws as `LongEpisode.page` does. */
export class RecordedPages implements Side {
  readonly #episode: LongEpisode;
  #page: StepPage | null = null;

  constructor(episode: LongEpisode) {
    this.#episode = episode;
  }

  get steps(): number {
    return this.#episode.summary.steps;
  }

  step(index: number): ExecutedStep | undefined {
    if (index >= this.steps) return undefined;
    const kept = this.#page;
    const isKept = kept !== null && index >= kept.from && index < kept.from + kept.body.steps.length;
    const page = isKept ? kept : this.#episode.page(index);
    this.#page = page;
    const step = page.body.steps[index - page.from];
    return step === undefined ? undefined : recordedStep(page.body, step);
  }

  ending(): Ending {
    const { body } = this.#episode.page(this.steps);
    return {
      steps: this.steps,
      finalLines: resolveLines(body, body.finalObservation),
      ...(body.finalAgent === undefined ? {} : { finalAgent: body.finalAgent }),
      end: recordedEnd(this.#episode.summary),
    };
  }
}

/** An execution that is all in memory. */
export function wholeSide(execution: RecordedExecution): Side {
  return {
    steps: execution.steps.length,
    step: (index) => execution.steps[index],
    ending: () => endingOf(execution),
  };
}
