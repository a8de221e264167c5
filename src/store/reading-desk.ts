import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { EpisodeSummary } from '../domain/episode.ts';
import type { IterationMetrics } from '../domain/run.ts';
import type { LongEpisode, StepPage } from './long-episode.ts';
import { openRunReader, type RunReader } from './queries.ts';
import { directoryBytes, type RunPaths, readManifest } from './run-directory.ts';
import type { StepFigures } from './step-figures.ts';
import { SuccessTrail } from './success-trail.ts';

/** What the list of runs shows of one, beside its manifest. */
export interface RunFigures {
  /** The newest iteration; 0 before the first. */
  readonly iteration: number;
  /** Success on held-out tasks where it was measured, else in training; oldest first, at most SHOWN of all. */
  readonly success: readonly number[];
  /** The newest of either. */
  readonly newest: number | null;
  /** Bytes of all its files. */
  readonly bytes: number;
  /** Name of its environment, as its config says; null where that is not to be had. */
  readonly env: string | null;
}

/** A question to a run that may take longer than drawing can wait. */
export type ReadingQuestion = { readonly paths: RunPaths } & (
  | { readonly kind: 'page'; readonly id: string; readonly step: number }
  | { readonly kind: 'figures'; readonly id: string }
  | {
      readonly kind: 'find';
      readonly id: string;
      readonly text: string;
      readonly from: number;
      readonly direction: 1 | -1;
    }
  | { readonly kind: 'run' }
  | { readonly kind: 'iterations'; readonly after: number; readonly until: number }
);

/** Its answer, with the kind of the question. */
export type ReadingAnswer =
  | { readonly kind: 'page'; readonly summary: EpisodeSummary; readonly page: StepPage }
  /** Null while there are more steps to read: to be asked again. */
  | { readonly kind: 'figures'; readonly figures: StepFigures | null }
  | { readonly kind: 'find'; readonly step: number | null }
  | { readonly kind: 'run'; readonly run: RunFigures }
  | { readonly kind: 'iterations'; readonly iterations: readonly IterationMetrics[] };

/** Steps that are read in one answer, in some 50 ms: pages that are wanted meanwhile come in between. */
const STEPS_AT_ONCE = 10_000;
/** Rows that are handed over at once, and the figures whose extremes are among them: those of the charts that compare runs. */
const MOST_ITERATIONS = 4096;
const COMPARED = ['envStepsPerS', 'kl', 'reward', 'success', 'heldOutSuccess'] as const;
/** Values of a sparkline. */
const SHOWN = 64;

/** Reads runs, on the thread that calls. Keeps open what was asked about last. */
export class ReadingDesk {
  #run: { readonly root: string; readonly reader: RunReader } | null = null;
  #episode: LongEpisode | null = null;
  /** By root of the run. */
  readonly #trails = new Map<string, SuccessTrail>();

  /** Throws what reading the run throws. */
  answer(question: ReadingQuestion): ReadingAnswer {
    switch (question.kind) {
      case 'page': {
        const episode = this.#long(question);
        return { kind: 'page', summary: episode.summary, page: episode.page(question.step) };
      }
      case 'figures':
        return { kind: 'figures', figures: this.#long(question).figures(STEPS_AT_ONCE) };
      case 'find': {
        const { text, from, direction } = question;
        return { kind: 'find', step: this.#long(question).find(text, from, direction) };
      }
      case 'run':
        return { kind: 'run', run: this.#figures(question.paths) };
      case 'iterations':
        return {
          kind: 'iterations',
          iterations: withReader(question.paths, (reader) =>
            reader.fewIterations(MOST_ITERATIONS, COMPARED, question),
          ),
        };
    }
  }

  /** Of a run that goes on, what came since the last look is read. */
  #figures(paths: RunPaths): RunFigures {
    const trail = this.#trails.get(paths.root) ?? new SuccessTrail();
    withReader(paths, (reader) => trail.follow(reader, readManifest(paths).attempt));
    this.#trails.set(paths.root, trail);
    const { iteration, success } = trail.curve(SHOWN);
    return {
      iteration,
      success,
      newest: success.at(-1) ?? null,
      bytes: directoryBytes(paths.root),
      env: envOf(paths),
    };
  }

  close(): void {
    this.#run?.reader.close();
    this.#run = null;
    this.#episode = null;
  }

  #long({ paths, id }: { readonly paths: RunPaths; readonly id: string }): LongEpisode {
    if (this.#run?.root !== paths.root) {
      this.close();
      this.#run = { root: paths.root, reader: openRunReader(paths) };
    }
    if (this.#episode?.summary.id !== id) this.#episode = this.#run.reader.longEpisode(id);
    return this.#episode;
  }
}

function withReader<Value>(paths: RunPaths, read: (reader: RunReader) => Value): Value {
  const reader = openRunReader(paths);
  try {
    return read(reader);
  } finally {
    reader.close();
  }
}

/** The lab writes the config itself, one key a line. Of a module of one's own its file name: the path would not fit. */
function envOf({ config }: RunPaths): string | null {
  try {
    const text = readFileSync(config, 'utf8');
    const name = /^env:\s*\n(?: +.*\n)*? +name: *(?:"([^"\n]+)"|([^\s#]+))/mu.exec(text);
    const found = name?.[1] ?? name?.[2];
    return found === undefined ? null : basename(found);
  } catch {
    return null;
  }
}
