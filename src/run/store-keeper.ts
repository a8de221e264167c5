import { statfsSync } from 'node:fs';
import { setImmediate as breathe } from 'node:timers/promises';
import { formatBytes } from '../domain/bytes.ts';
import { errorText } from '../domain/error.ts';
import type { StoreStatus } from '../domain/run.ts';
import { archivedBytesInside } from '../store/archive-files.ts';
import type { CompactionReport } from '../store/compact.ts';
import type { RunStore } from '../store/index-writer.ts';
import { readPins } from '../store/pins.ts';
import { describeKept } from '../store/retention.ts';
import { directoryBytes, type RunPaths } from '../store/run-directory.ts';
import { firstUnreadSegment } from '../store/text-index.ts';
import type { Journal } from './journal.ts';
import { StoreGrowth } from './store-growth.ts';

export interface StoreKeeperOptions {
  readonly paths: RunPaths;
  readonly store: RunStore;
  readonly journal: Journal;
  readonly budgetGiB: number | null;
  readonly keepSample: number;
  /** The text index follows the segments (`store.textIndex`). */
  readonly textIndex: boolean;
}

const MEASURE_MS = 5000;
/** Compaction begins when so much of the budget is used, and rests again below the lower mark. */
const MARKS = { begin: 0.9, rest: 0.8 } as const;
/** The waits after a compaction that failed, ms: doubled from the first to the last. */
const FIRST_RETRY_MS = 10_000;
const LAST_RETRY_MS = 600_000;
/** A forecast below this is worth an event. */
const SOON_S = 3600;
const GIB = 2 ** 30;

/**
 * Keeps a run within its byte budget: measures its directory (but not what was archived there on purpose), says when it will be full at this rate, and compacts closed
 * segments, the oldest first, when little is left. A full budget never stops the run: it is told, and the disk has the last word.
 */
export class StoreKeeper {
  readonly #options: StoreKeeperOptions;
  readonly #budget: number | null;
  readonly #growth = new StoreGrowth();
  #measuredAt = Number.NEGATIVE_INFINITY;
  #fullInS: number | null = null;
  #toldSoon = false;
  #toldFull = false;
  #retaining = false;
  #thinning = false;
  #compacting = false;
  /** After a failure; null while compaction works. */
  #retry: { readonly at: number; readonly waitMs: number } | null = null;
  #closed = false;

  constructor(options: StoreKeeperOptions) {
    this.#options = options;
    this.#budget = options.budgetGiB === null ? null : options.budgetGiB * GIB;
  }

  status(): StoreStatus {
    const { bytes, bytesPerHour } = this.#growth;
    return { bytes, budgetBytes: this.#budget, bytesPerHour, fullInS: this.#fullInS };
  }

  /** Called every now and then, with the time in ms. */
  tick(now: number): void {
    if (this.#closed || now - this.#measuredAt < MEASURE_MS) return;
    this.#measuredAt = now;
    try {
      this.#measure(now);
    } catch (thrown) {
      // A file that goes while it is looked at: the next look will do.
      this.#options.journal.log(`the run directory could not be measured: ${errorText(thrown)}`);
      return;
    }
    this.#warn();
    const mayTry = !this.#compacting && now >= (this.#retry?.at ?? now);
    if (this.#isNearBudget() && mayTry) void this.#compact();
  }

  /** Nothing is begun any more; a compaction in progress gives up at its next breath. */
  close(): void {
    this.#closed = true;
  }

  #measure(now: number): void {
    const { root } = this.#options.paths;
    this.#growth.observe(now, this.#bytes());
    const disk = statfsSync(root);
    const free = disk.bavail * disk.bsize;
    const left = this.#budget === null ? free : Math.min(free, this.#budget - this.#growth.bytes);
    this.#fullInS = this.#growth.secondsUntil(left);
  }

  #bytes(): number {
    const { root, segments } = this.#options.paths;
    return directoryBytes(root) - archivedBytesInside(segments);
  }

  #warn(): void {
    const { journal } = this.#options;
    // What is full already is told by `store-over-budget`, or by the disk.
    const soon = this.#fullInS !== null && this.#fullInS > 0 && this.#fullInS < SOON_S;
    if (soon && !this.#toldSoon) {
      const minutes = Math.round((this.#fullInS ?? 0) / 60);
      const what = this.#budget === null ? 'the disk' : 'store.budgetGiB or the disk';
      journal.event('warning', 'store-filling', 'store', `${what} is full in ${minutes} min at this rate`);
    }
    // Not again at each wobble of the rate.
    if (soon || this.#fullInS === null || this.#fullInS > 2 * SOON_S) this.#toldSoon = soon;
  }

  /** From the upper mark down to the lower one. */
  #isNearBudget(): boolean {
    if (this.#budget === null) return false;
    const used = this.#growth.bytes / this.#budget;
    if (used >= MARKS.begin && !this.#retaining) {
      this.#retaining = true;
      const message = `${Math.round(used * 100)} % of store.budgetGiB are used: closed segments are compacted; kept are ${describeKept()}`;
      this.#options.journal.event('info', 'retention-began', 'store', message);
    } else if (used < MARKS.rest) {
      this.#retaining = false;
      this.#thinning = false;
      this.#toldFull = false;
    }
    return this.#retaining;
  }

  /** One segment after another, as the run may write faster than it is looked at, until there is room or nothing more to drop. */
  async #compact(): Promise<void> {
    const { journal } = this.#options;
    this.#compacting = true;
    try {
      while (!this.#closed && this.#bytes() > MARKS.rest * (this.#budget ?? 0)) {
        const report = await this.#compactOne();
        this.#works();
        if (report === null) {
          if (!this.#closed) this.#nothingLeft();
          break;
        }
        journal.event('info', 'segment-compacted', 'store', describeCompaction(report));
      }
    } catch (thrown) {
      this.#failed(errorText(thrown));
    } finally {
      this.#compacting = false;
    }
  }

  /** A disk that stays full, or a file that stays unreadable, is one piece of news. */
  #failed(reason: string): void {
    const { journal } = this.#options;
    if (this.#closed) return;
    const before = this.#retry;
    const waitMs = before === null ? FIRST_RETRY_MS : Math.min(LAST_RETRY_MS, before.waitMs * 2);
    this.#retry = { at: this.#measuredAt + waitMs, waitMs };
    journal.log(`compaction failed: ${reason}; tried again in ${waitMs / 1000} s`);
    if (before === null) {
      const again = 'it is tried again, ever more seldom, every 10 min in the end';
      journal.event('error', 'compaction-failed', 'store', `${reason}; ${again}`);
    }
  }

  #works(): void {
    if (this.#retry === null || this.#closed) return;
    this.#retry = null;
    this.#options.journal.event('info', 'compaction-goes-on', 'store', 'segments are compacted again');
  }

  async #compactOne(): Promise<CompactionReport | null> {
    const { store, paths, keepSample } = this.#options;
    return await store.compactOldest({
      keepSample,
      pinned: () => readPins(paths),
      thinFailures: this.#thinning,
      ...this.#leftToText(),
      breathe: async () => {
        await breathe();
        return !this.#closed;
      },
    });
  }

  /** What the text index has not read yet is spared, until the budget is passed: all of it where there is none yet, or none any more. */
  #leftToText(): { readonly before?: number } {
    const { paths, textIndex } = this.#options;
    if (!textIndex || this.#thinning) return {};
    return { before: firstUnreadSegment(paths.text) ?? 0 };
  }

  /** Once for each time that the budget is passed. */
  #nothingLeft(): void {
    if (this.#budget === null || this.#growth.bytes <= this.#budget || this.#toldFull) return;
    if (!this.#thinning) {
      this.#thinning = true;
      const thinned =
        'store.budgetGiB is passed: failures keep their steps as others do, but for 20 of each type in a segment';
      this.#options.journal.event('warning', 'failures-thinned', 'store', thinned);
      return;
    }
    this.#toldFull = true;
    const over = formatBytes(this.#growth.bytes - this.#budget);
    const message = `store.budgetGiB is passed by ${over}, and what closed segments hold is all to be kept; the run goes on`;
    this.#options.journal.event('warning', 'store-over-budget', 'store', message);
  }
}

function describeCompaction({ segment, bytesBefore, bytesAfter, kept, dropped }: CompactionReport): string {
  return `segment ${segment}: ${formatBytes(bytesBefore)} to ${formatBytes(bytesAfter)}; ${kept} episodes keep their steps, ${dropped} do not`;
}
