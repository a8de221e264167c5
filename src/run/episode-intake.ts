import { errorText, LabError } from '../domain/error.ts';
import type { RunStore } from '../store/index-writer.ts';
import type { DeliveredEpisode } from './worker-pool.ts';

export interface ReceivedEpisode extends DeliveredEpisode {
  readonly worker: number;
}

export interface EpisodeIntakeOptions {
  /** These are on disk: they may be acknowledged and used. */
  readonly onStored: (episodes: readonly ReceivedEpisode[]) => void;
  /** Nothing can be stored; what is waiting is kept until `flush` succeeds. */
  readonly onFailed: (error: LabError) => void;
}

const EMPTY_BODY = Buffer.from('{"lines":[],"candidateSets":[],"steps":[],"finalObservation":[]}');

/**
 * Least time between two transactions, in ms. Each writes the same few pages of every index again, commits and acknowledges,
 * however many rows it adds. Longer would keep a batch of the trainer waiting, but where so many came that a batch takes long to
 * be sampled anyway.
 */
const INTERVAL_MS = 10;
const BUSY_INTERVAL_MS = 25;
/** Episodes of one transaction that say that many come: 2,000 in a second. */
const MANY = 20;

/** Stores what arrives in one go, at once after a quiet time and in intervals in a busy one; only then it counts. */
export class EpisodeIntake {
  readonly #store: Pick<RunStore, 'appendEpisodes'>;
  readonly #options: EpisodeIntakeOptions;
  #waiting: ReceivedEpisode[] = [];
  #scheduled = false;
  #newestWrite: { readonly ms: number; readonly endedAt: number } | null = null;
  #flushedAt = Number.NEGATIVE_INFINITY;
  #intervalMs = INTERVAL_MS;

  constructor(store: Pick<RunStore, 'appendEpisodes'>, options: EpisodeIntakeOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** How long the newest write took, and when it ended (ms since the epoch), whether or not it worked; null before the first. */
  get newestWrite(): { readonly ms: number; readonly endedAt: number } | null {
    return this.#newestWrite;
  }

  add(episode: ReceivedEpisode): void {
    this.#waiting.push(episode);
    if (this.#scheduled) return;
    this.#scheduled = true;
    const wait = this.#flushedAt + this.#intervalMs - performance.now();
    if (wait > 0) setTimeout(() => this.#flushScheduled(), wait);
    else setImmediate(() => this.#flushScheduled());
  }

  /** Forgets what is waiting of a worker: it is gone, and what it had will be dispatched again. */
  drop(worker: number): void {
    this.#waiting = this.#waiting.filter((episode) => episode.worker !== worker);
  }

  /** Stores what is waiting. Returns whether that worked. */
  flush(): boolean {
    if (this.#waiting.length === 0) return true;
    this.#flushedAt = performance.now();
    const batch = this.#waiting;
    this.#intervalMs = batch.length < MANY ? INTERVAL_MS : BUSY_INTERVAL_MS;
    const started = performance.now();
    try {
      this.#store.appendEpisodes(
        batch.map(({ summary, attachments: { summary: json, body = EMPTY_BODY } }) => ({
          summary,
          json,
          body,
        })),
      );
    } catch (thrown) {
      this.#options.onFailed(
        thrown instanceof LabError
          ? thrown
          : new LabError('store-failed', { message: errorText(thrown), cause: thrown }),
      );
      return false;
    } finally {
      this.#newestWrite = { ms: performance.now() - started, endedAt: Date.now() };
    }
    this.#waiting = [];
    this.#options.onStored(batch);
    return true;
  }

  #flushScheduled(): void {
    this.#scheduled = false;
    this.flush();
  }
}

/** What has to be acknowledged to each worker. */
export function bytesByWorker(episodes: readonly ReceivedEpisode[]): Map<number, number> {
  const sums = new Map<number, number>();
  for (const { worker, bytes } of episodes) {
    if (bytes > 0) sums.set(worker, (sums.get(worker) ?? 0) + bytes);
  }
  return sums;
}
