import type { EpisodeSummary } from '../domain/episode.ts';
import type { Evaluation, IterationMetrics, RunStatus } from '../domain/run.ts';
import type { UpdateMetrics } from '../protocol/trainer.ts';
import { type BatchOutcome, batchOutcome } from './batch-outcome.ts';
import { Interval } from './interval.ts';
import type { RunClock } from './knob-keeper.ts';
import { addLeftOut, type LeftOut, NOTHING_LEFT_OUT } from './left-out.ts';
import type { QueuedSamples } from './sample-queue.ts';
import { Stopwatch } from './stopwatch.ts';

export interface Totals {
  readonly episodes: number;
  readonly envSteps: number;
  readonly voidEpisodes: number;
}

/** Where a resumed run goes on from. */
export interface ProgressStart {
  readonly iteration: number;
  readonly elapsedS: number;
  readonly evaluations: readonly Evaluation[];
}

/** Counts and clocks of a run: makes the rows of metrics. Times are seconds of running time, pauses excluded. */
export class Progress {
  readonly #watch: Stopwatch;
  readonly #evaluations = new Map<Evaluation['mode'], Evaluation>();
  #iteration: number;
  #totals: Totals;
  #interval = new Interval();
  #batch: BatchOutcome = batchOutcome([]);
  #queuedBytes = 0;
  #leftOut = NOTHING_LEFT_OUT;
  #heldS = 0;
  #intervalSince: number;
  /** When the newest row that had steps ended. */
  #sampledUntil: number;
  /** Steps of that row, and since when they were counted. */
  #sampled: { readonly steps: number; readonly since: number };
  #updateSince = 0;
  #evaluationSince = 0;
  #evalS = 0;
  policyVersion = 0;

  constructor(totals: Totals, start: ProgressStart | null) {
    const { episodes, envSteps, voidEpisodes } = totals;
    this.#totals = { episodes, envSteps, voidEpisodes };
    this.#iteration = start?.iteration ?? 0;
    this.#watch = new Stopwatch(start?.elapsedS ?? 0);
    this.#intervalSince = this.#watch.seconds();
    this.#sampledUntil = this.#intervalSince;
    this.#sampled = { steps: 0, since: this.#intervalSince };
    for (const evaluation of start?.evaluations ?? []) this.#evaluations.set(evaluation.mode, evaluation);
  }

  /** The last iteration that was completed. */
  get iteration(): number {
    return this.#iteration;
  }

  get elapsedS(): number {
    return this.#watch.seconds();
  }

  /** The newest evaluation in each action mode. */
  get evaluations(): Evaluation[] {
    return [...this.#evaluations.values()];
  }

  totals(): Pick<
    RunStatus,
    'iteration' | 'policyVersion' | 'elapsedS' | 'episodes' | 'envSteps' | 'voidEpisodes'
  > {
    const { iteration, elapsedS, policyVersion } = this;
    return { iteration, elapsedS, policyVersion, ...this.#totals };
  }

  /** How far the run is, in each of the units of a schedule. */
  clock(): RunClock {
    return { iterations: this.#iteration, minutes: this.elapsedS / 60, steps: this.#totals.envSteps };
  }

  setRunning(running: boolean): void {
    if (running) this.#watch.start();
    else this.#watch.stop();
  }

  /** A training episode has been stored. */
  add(summary: EpisodeSummary): void {
    this.#interval.add(summary);
    const { episodes, envSteps, voidEpisodes } = this.#totals;
    this.#totals = {
      episodes: episodes + 1,
      envSteps: envSteps + summary.steps,
      voidEpisodes: voidEpisodes + Number(summary.trust === 'void'),
    };
  }

  /** `queuedBytes`: what was queued before its batch was taken. */
  beginUpdate(batch: readonly QueuedSamples[], queuedBytes: number): void {
    this.#queuedBytes = queuedBytes;
    this.#updateSince = this.#watch.seconds();
    this.#batch = batchOutcome(batch);
  }

  /** These were left out of batches. */
  addLeftOut(leftOut: LeftOut): void {
    this.#leftOut = addLeftOut(this.#leftOut, leftOut);
  }

  /** Samplers could not sample for so long: half a second for one at half the pace. */
  addHeld(seconds: number): void {
    this.#heldS += seconds;
  }

  beginEvaluation(): void {
    this.#evaluationSince = this.#watch.seconds();
  }

  finishEvaluation(results: readonly Evaluation[]): void {
    this.#evalS += this.#watch.seconds() - this.#evaluationSince;
    for (const result of results) this.#evaluations.set(result.mode, result);
  }

  /** Closes the interval that ended with this update, and gives its row of metrics. */
  finishIteration(iteration: number, attempt: number, update: UpdateMetrics): IterationMetrics {
    const now = this.#watch.seconds();
    const evalS = this.#evalS;
    const { steps, voidShare } = this.#interval;
    // A queue that holds several batches gives rows in whose interval nothing was sampled: theirs is the rate until now.
    if (steps > 0) this.#sampled = { steps, since: this.#sampledUntil };
    if (steps > 0) this.#sampledUntil = now;
    const sampled = this.#evaluations.get('sampled');
    const greedy = this.#evaluations.get('greedy');
    const row: IterationMetrics = {
      ...update,
      ...this.#totals,
      ...this.#batch,
      iteration,
      attempt,
      policyVersion: this.policyVersion,
      time: Date.now(),
      elapsedS: now,
      envStepsPerS: this.#sampled.steps / Math.max(1e-3, now - this.#sampled.since),
      staleSteps: this.#leftOut.steps,
      staleEpisodes: this.#leftOut.episodes,
      staleS: this.#leftOut.wallMs / 1000,
      voidShare,
      queuedBytes: this.#queuedBytes,
      heldOutSuccess: sampled?.success ?? null,
      heldOutByFamily: sampled?.byFamily ?? {},
      heldOutGreedy: greedy?.success ?? null,
      heldOutGreedyByFamily: greedy?.byFamily ?? {},
      sampleS: Math.max(0, this.#updateSince - this.#intervalSince - evalS),
      heldS: this.#heldS,
      evalS,
    };
    this.#iteration = iteration;
    this.#interval = new Interval();
    this.#intervalSince = now;
    this.#evalS = 0;
    this.#leftOut = NOTHING_LEFT_OUT;
    this.#heldS = 0;
    return row;
  }
}
