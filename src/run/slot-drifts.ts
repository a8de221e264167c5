import { mebibytes, seconds } from '../domain/figure-text.ts';
import type { SlotDrift, SlotRebuild } from '../protocol/worker.ts';

/** What is worth an event. */
export interface SlotNews {
  readonly slot: number;
  readonly message: string;
}

/** A worker is not told of again for a figure before, ms. */
const QUIET_MS = 60_000;

/** How a figure is written, and what it is of. */
interface Figure {
  readonly text: (value: number) => string;
  readonly of: string;
}

const FIGURES: Readonly<Record<SlotDrift['figure'], Figure>> = {
  cpuMs: { text: seconds, of: 'of CPU time in 5 s' },
  tempBytes: { text: mebibytes, of: 'in its temporary directory' },
  openFiles: { text: (value) => `${Math.round(value)}`, of: 'open files in its temporary directory' },
};

/**
 * Chooses among the slots that use far more than their peers, or so much that they are rebuilt: of a worker and a figure, one
 * a minute. Where environments differ by nature there is one in every report, and events are kept for good. Times are ms since
 * the epoch.
 */
export class SlotDrifts {
  readonly #newest = new Map<string, { readonly at: number; leftOut: number }>();

  /** What to tell of these drifts of a worker; the others are counted, and told of with the next one of their figure. */
  add(worker: number, drifts: readonly SlotDrift[], now: number): SlotNews[] {
    return drifts.flatMap(({ slot, figure, value, median }) => {
      const { text, of } = FIGURES[figure];
      const message = `${text(value)} ${of}; the median of its worker's slots: ${text(median)}`;
      return this.#choose(`${worker} ${figure}`, { slot, message }, now);
    });
  }

  /** The same of slots that were rebuilt between two episodes. */
  rebuilt(worker: number, rebuilds: readonly SlotRebuild[], now: number): SlotNews[] {
    return rebuilds.flatMap(({ slot, reason }) => {
      const message = `rebuilt between two episodes: ${reason}`;
      return this.#choose(`${worker} rebuilt`, { slot, message }, now);
    });
  }

  #choose(key: string, { slot, message }: SlotNews, now: number): SlotNews[] {
    const newest = this.#newest.get(key);
    if (newest !== undefined && now - newest.at < QUIET_MS) {
      newest.leftOut++;
      return [];
    }
    this.#newest.set(key, { at: now, leftOut: 0 });
    const leftOut = newest?.leftOut ?? 0;
    return [{ slot, message: leftOut === 0 ? message : `${message}; ${leftOut} more since the last one` }];
  }
}
