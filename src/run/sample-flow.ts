import type { Config } from '../config/schema.ts';
import type { Journal } from './journal.ts';
import type { Progress } from './progress.ts';
import { type QueuedSamples, SampleQueue } from './sample-queue.ts';
import { StaleSamples } from './stale-samples.ts';
import { VoidBreaker } from './void-breaker.ts';
import type { DeliveredEpisode } from './worker-pool.ts';

/** The way of training episodes from the store to a batch: counted, queued when they may be trained on, left out when too old. */
export class SampleFlow {
  readonly #batchSteps: number;
  readonly #queue = new SampleQueue();
  readonly #progress: Progress;
  readonly #stale: StaleSamples;
  readonly #breaker: VoidBreaker;

  constructor({ sampling, supervision }: Config, progress: Progress, journal: Pick<Journal, 'event'>) {
    this.#batchSteps = sampling.batchSteps;
    this.#progress = progress;
    this.#stale = new StaleSamples(sampling.maxStaleness, this.#queue, progress, journal);
    this.#breaker = new VoidBreaker(supervision.voidShare);
  }

  /** Steps and bytes that wait for an update. */
  get queued(): Pick<SampleQueue, 'steps' | 'bytes' | 'oldest'> {
    return this.#queue;
  }

  /** Takes a stored training episode in. Returns why the run should stop sampling, or null. */
  add(episode: DeliveredEpisode): string | null {
    const { summary } = episode;
    this.#progress.add(summary);
    if (summary.trust === 'valid' && summary.steps > 0) this.#queue.push(episode);
    return this.#breaker.observe(summary.trust === 'void', summary.failureDetail);
  }

  /** The next batch without what is too old for it; null when what is left makes up none. */
  takeBatch(): QueuedSamples[] | null {
    this.#stale.drop(Date.now());
    return this.#queue.steps < this.#batchSteps ? null : this.#queue.take(this.#batchSteps);
  }

  /** Somebody has looked at the void episodes: they are counted from the start. */
  forgetVoid(): void {
    this.#breaker.reset();
  }
}
