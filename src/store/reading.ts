import type { EpisodeSummary } from '../domain/episode.ts';
import { LabError } from '../domain/error.ts';
import { programFile, RUNS_FROM_SOURCE } from '../domain/program-files.ts';
import type { IterationMetrics } from '../domain/run.ts';
import type { StepPage } from './long-episode.ts';
import { type ReadingAnswer, ReadingDesk, type ReadingQuestion, type RunFigures } from './reading-desk.ts';
import type { RunPaths } from './run-directory.ts';
import type { StepFigures } from './step-figures.ts';
import { SearchThread } from './thread-search.ts';

export { PAGE_STEPS, type StepPage } from './long-episode.ts';
export type { RunFigures } from './reading-desk.ts';

/** Who answers. */
interface Desk {
  warm(): void;
  ask(question: ReadingQuestion): Promise<ReadingAnswer>;
  close(): Promise<void>;
}

/**
 * Reads what would hold up the drawing: pages of long episodes, and figures of runs that are not open. In the built lab a thread of
 * its own does. Everything rejects with what the reading throws.
 */
export class Reading {
  readonly #desk: Desk;
  #isClosed = false;

  constructor() {
    this.#desk = openDesk();
  }

  /** Makes ready for a question that nobody should wait for. */
  warm(): void {
    if (!this.#isClosed) this.#desk.warm();
  }

  /** The page of an episode that has a step, from 0, and what the episode's record says of it. */
  async page(
    paths: RunPaths,
    id: string,
    step: number,
  ): Promise<{ readonly summary: EpisodeSummary; readonly page: StepPage }> {
    const answer = await this.#ask({ kind: 'page', paths, id, step });
    return answer.kind === 'page' ? answer : unexpected(answer);
  }

  /** Figures of all steps of an episode, read bit by bit; null when they were not wanted any more before all was read. */
  async figures(paths: RunPaths, id: string, isWanted: () => boolean): Promise<StepFigures | null> {
    for (;;) {
      const answer = await this.#ask({ kind: 'figures', paths, id });
      if (answer.kind !== 'figures') return unexpected(answer);
      if (answer.figures !== null || !isWanted()) return answer.figures;
    }
  }

  /** The next step of an episode with a text (`LongEpisode.find`). */
  async find(
    paths: RunPaths,
    id: string,
    wanted: { readonly text: string; readonly from: number; readonly direction: 1 | -1 },
  ): Promise<number | null> {
    const answer = await this.#ask({ kind: 'find', paths, id, ...wanted });
    return answer.kind === 'find' ? answer.step : unexpected(answer);
  }

  async run(paths: RunPaths): Promise<RunFigures> {
    const answer = await this.#ask({ kind: 'run', paths });
    return answer.kind === 'run' ? answer.run : unexpected(answer);
  }

  /**
   * Metrics of a run's iterations after `after` until `until`, ascending: all of them, or of very many those that a chart shows
   * (`fewIterations`).
   */
  async iterations(
    paths: RunPaths,
    { after, until } = { after: 0, until: Number.MAX_SAFE_INTEGER },
  ): Promise<readonly IterationMetrics[]> {
    const answer = await this.#ask({ kind: 'iterations', paths, after, until });
    return answer.kind === 'iterations' ? answer.iterations : unexpected(answer);
  }

  /** Ends it once it has answered what it was asked; what is asked from now on is refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#desk.close();
  }

  async #ask(question: ReadingQuestion): Promise<ReadingAnswer> {
    // A question would start the thread again, and nobody would end it.
    if (this.#isClosed)
      throw new LabError('store-failed', { message: 'the screen that reads has been left' });
    return await this.#desk.ask(question);
  }
}

function openDesk(): Desk {
  // Node 20 cannot start a thread from a TypeScript file: from source the caller's thread answers.
  if (!RUNS_FROM_SOURCE) {
    return new SearchThread<ReadingQuestion, ReadingAnswer>(null, programFile('readingThread'));
  }
  const desk = new ReadingDesk();
  return {
    warm: () => undefined,
    ask: async (question) => await Promise.resolve(desk.answer(question)),
    close: async () => await Promise.resolve(desk.close()),
  };
}

function unexpected({ kind }: ReadingAnswer): never {
  throw new LabError('internal', { message: `another question was answered: ${kind}` });
}
