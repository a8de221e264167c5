import type { Journal } from './journal.ts';
import type { Progress } from './progress.ts';
import type { SampleQueue } from './sample-queue.ts';

/** Drops are told in one event for so long, ms. */
const QUIET_MS = 60_000;

/** Keeps samples of too old a policy out of batches, and says so. */
export class StaleSamples {
  readonly #queue: Pick<SampleQueue, 'dropOlder'>;
  readonly #progress: Pick<Progress, 'policyVersion' | 'addStale'>;
  readonly #journal: Pick<Journal, 'event'>;
  readonly #most: number;
  #dropped = { episodes: 0, steps: 0 };
  #toldAt = Number.NEGATIVE_INFINITY;

  /** `most`: policy versions that the oldest step of an episode may be behind. */
  constructor(
    most: number,
    queue: Pick<SampleQueue, 'dropOlder'>,
    progress: Pick<Progress, 'policyVersion' | 'addStale'>,
    journal: Pick<Journal, 'event'>,
  ) {
    this.#most = most;
    this.#queue = queue;
    this.#progress = progress;
    this.#journal = journal;
  }

  /** To be called before a batch is taken; `time` in ms. */
  drop(time: number): void {
    const dropped = this.#queue.dropOlder(this.#progress.policyVersion - this.#most);
    if (dropped.length === 0) return;
    const steps = dropped.reduce((sum, { header }) => sum + header.steps, 0);
    this.#progress.addStale(steps);
    this.#dropped = { episodes: this.#dropped.episodes + dropped.length, steps: this.#dropped.steps + steps };
    if (time - this.#toldAt < QUIET_MS) return;
    const what = `${this.#dropped.episodes} episodes with ${this.#dropped.steps} steps were left out of batches`;
    const why = `a step of theirs was more than ${this.#most} policy versions old (sampling.maxStaleness)`;
    this.#journal.event('warning', 'samples-stale', 'run', `${what}: ${why}`);
    this.#dropped = { episodes: 0, steps: 0 };
    this.#toldAt = time;
  }
}
