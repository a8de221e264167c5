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

/** Stores what arrives within one turn of the event loop in one go, and only then lets it count. */
export class EpisodeIntake {
  readonly #store: RunStore;
  readonly #options: EpisodeIntakeOptions;
  #waiting: ReceivedEpisode[] = [];
  #scheduled = false;
  #newestWrite: { readonly ms: number; readonly endedAt: number } | null = null;

  constructor(store: RunStore, options: EpisodeIntakeOptions) {
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
    setImmediate(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  /** Forgets what is waiting of a worker: it is gone, and what it had will be dispatched again. */
  drop(worker: number): void {
    this.#waiting = this.#waiting.filter((episode) => episode.worker !== worker);
  }

  /** Stores what is waiting. Returns whether that worked. */
  flush(): boolean {
    if (this.#waiting.length === 0) return true;
    const batch = this.#waiting;
    const started = performance.now();
    try {
      this.#store.appendEpisodes(
        batch.map(({ summary, attachments }) => ({ summary, body: attachments['body'] ?? EMPTY_BODY })),
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
}

/** What has to be acknowledged to each worker. */
export function bytesByWorker(episodes: readonly ReceivedEpisode[]): Map<number, number> {
  const sums = new Map<number, number>();
  for (const { worker, bytes } of episodes) {
    if (bytes > 0) sums.set(worker, (sums.get(worker) ?? 0) + bytes);
  }
  return sums;
}
