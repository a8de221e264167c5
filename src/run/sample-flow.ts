import type { Config } from '../config/schema.ts';
import type { Waste } from '../domain/pipeline.ts';
import { mostQueuedBytes } from './back-pressure.ts';
import type { Journal } from './journal.ts';
import type { Progress } from './progress.ts';
import { type QueuedSamples, SampleQueue } from './sample-queue.ts';
import { StaleSamples } from './stale-samples.ts';
import { VoidBreaker } from './void-breaker.ts';
import { WasteMeter } from './waste-meter.ts';
import type { DeliveredEpisode } from './worker-pool.ts';

/**
 * The way of training episodes from the store to a batch: counted, queued when they may be trained on, the oldest left out when
 * they are too old or too many.
 */
export class SampleFlow {
  readonly #batchSteps: number;
  readonly #queue = new SampleQueue();
  readonly #progress: Progress;
  readonly #stale: StaleSamples;
  readonly #breaker: VoidBreaker;
  readonly #meter = new WasteMeter();

  constructor(config: Config, progress: Progress, journal: Pick<Journal, 'event'>) {
    const { sampling, supervision } = config;
    this.#batchSteps = sampling.batchSteps;
    this.#progress = progress;
    const most = { versions: sampling.maxStaleness, bytes: mostQueuedBytes(config) };
    this.#stale = new StaleSamples(most, { queue: this.#queue, progress, waste: this.#meter, journal });
    this.#breaker = new VoidBreaker(supervision, sampling.slots);
  }

  /** Steps and bytes that wait for an update. */
  get queued(): Pick<SampleQueue, 'steps' | 'bytes' | 'oldest'> {
    return this.#queue;
  }

  /** What became of the time that training episodes of this attempt took. */
  get waste(): Waste {
    return this.#meter.waste;
  }

  /** Takes a stored training episode in. Returns why the run should stop sampling, or null. */
  add(episode: DeliveredEpisode): string | null {
    const { summary } = episode;
    this.#progress.add(summary);
    this.#meter.addStored(summary);
    if (summary.trust === 'valid' && summary.steps > 0) {
      this.#queue.push(episode);
      this.#stale.shed(Date.now());
    }
    return this.#breaker.observe(summary.trust === 'void', summary.failureDetail);
  }

  /** Training episodes were lost with a worker, and will be done again: so long, in sum, they were in flight. */
  addRetried(ms: number): void {
    this.#meter.addRetried(ms);
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
