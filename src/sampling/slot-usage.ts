import { TICK_MS } from '../protocol/lifeline.ts';
import type { SlotDrift } from '../protocol/worker.ts';

/** Fewer slots than that say nothing of what is usual. */
const LEAST_PEERS = 8;
/** Standard deviations of a normal distribution in its median absolute deviation. */
const MAD_TO_SIGMA = 1.4826;
const MOST_SIGMAS = 8;
/** So many looks in a row must find a slot to be out of line. */
const LOOKS = 2;
/** CPU time is summed over so long, ms. */
const CPU_WINDOW_MS = 5000;

/** What makes a figure worth an event: so much more than the median, and so many times it. */
interface Bound {
  readonly least: number;
  readonly factor: number;
}
const BOUNDS: Readonly<Record<SlotDrift['figure'], Bound>> = {
  // A fifth of a core, all the window.
  cpuMs: { least: CPU_WINDOW_MS / 5, factor: 5 },
  tempBytes: { least: 16 * 2 ** 20, factor: 4 },
  openFiles: { least: 16, factor: 4 },
};

export interface Outlier {
  readonly index: number;
  readonly value: number;
  readonly median: number;
}

/**
 * The values that are far above the others: by MOST_SIGMAS robust standard deviations (median absolute deviation), and by the
 * bound. None where there are fewer than LEAST_PEERS.
 */
export function findOutliers(values: readonly number[], { least, factor }: Bound): Outlier[] {
  if (values.length < LEAST_PEERS) return [];
  const median = medianOf(values);
  const spread = MAD_TO_SIGMA * medianOf(values.map((value) => Math.abs(value - median)));
  const limit = Math.max(median + MOST_SIGMAS * spread, median + least, median * factor);
  return values.flatMap((value, index) => (value >= limit ? [{ index, value, median }] : []));
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? 0) + upper) / 2;
}

/** What each slot of a worker uses, and which are out of line. */
export class SlotUsage {
  readonly #cpuMs: number[];
  #cpuSince: number;
  /** CPU time in the newest whole window, ms. */
  #window: readonly number[];
  /** How many looks in a row a slot was out of line, by figure and slot. */
  readonly #looks = new Map<string, number>();

  constructor(slots: number, now: number) {
    this.#cpuMs = Array.from({ length: slots }, () => 0);
    this.#window = this.#cpuMs;
    this.#cpuSince = now;
  }

  /** CPU time of a slot's calls in the newest whole window, as cores. */
  cpu(slot: number): number {
    return (this.#window[slot] ?? 0) / CPU_WINDOW_MS;
  }

  /** Takes what the watching thread counted. Gives slots whose CPU time is newly out of line. */
  addTicks(ticks: Int32Array, now: number): SlotDrift[] {
    for (const [slot, count] of ticks.entries()) {
      this.#cpuMs[slot] = (this.#cpuMs[slot] ?? 0) + count * TICK_MS;
    }
    if (now - this.#cpuSince < CPU_WINDOW_MS) return [];
    // A window that came late is longer.
    const scale = CPU_WINDOW_MS / (now - this.#cpuSince);
    this.#window = this.#cpuMs.map((ms) => ms * scale);
    this.#cpuMs.fill(0);
    this.#cpuSince = now;
    return this.judge('cpuMs', this.#window);
  }

  /** Gives slots of which a figure, by slot, is newly out of line. */
  judge(figure: SlotDrift['figure'], values: readonly number[]): SlotDrift[] {
    const outliers = findOutliers(values, BOUNDS[figure]);
    const found = new Set(outliers.map(({ index }) => `${figure} ${index}`));
    for (const key of this.#looks.keys()) {
      if (key.startsWith(`${figure} `) && !found.has(key)) this.#looks.delete(key);
    }
    return outliers.flatMap(({ index, value, median }) => {
      const key = `${figure} ${index}`;
      const looks = (this.#looks.get(key) ?? 0) + 1;
      this.#looks.set(key, looks);
      return looks === LOOKS ? [{ slot: index, figure, value, median }] : [];
    });
  }
}
