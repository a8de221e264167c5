import { Arrivals, CallCost } from './batch-cost.ts';

/** What the config allows. */
export interface WindowLimits {
  /** Most observations in a call. */
  readonly capacity: number;
  /** Observations that a call waits for, where they come within the longest window. */
  readonly minRows: number;
  readonly minWindowMs: number;
  readonly maxWindowMs: number;
}

/** What a worker sees when it could make a call. */
export interface Gathered {
  /** Observations that wait for the policy. */
  readonly ready: number;
  /** How long the first of them has waited, ms. */
  readonly oldestMs: number;
  /** Slots whose environments are at work: only they can become ready. */
  readonly away: number;
}

/** How long to wait at most, ms, and for how many observations; 0 ms: ask now. */
export interface Wait {
  readonly ms: number;
  readonly rows: number;
}

/** A hundredth of the throughput is worth as much as so many hundredths of a core. */
const THROUGHPUT_WORTH = 16;
/** Timers are no finer. */
const LEAST_WAIT_MS = 1;

const NOW: Wait = Object.freeze({ ms: 0, rows: 0 });

/**
 * Decides whether a call of the policy is made now or waits for further observations.
 *
 * A call costs `a` ms beside its rows, λ slots come back in a ms, and each was away for L ms. A window of w ms makes calls
 * of 1 + λw rows, so `a` takes the share λa / (1 + λw) of a core; it holds a slot back for w / 2 in the mean, so it takes the
 * share w / 2L of the throughput. With the latter k times as dear the sum is least at
 *
 *     w = √(2aL / k) − 1 / λ,  that is, calls of λ √(2aL / k) rows
 *
 * the economic order quantity (Harris 1913) with a call for an order and waiting for storage. So the window grows with the cost
 * of a call and with the latency of tools, and is 0 for environments that answer at once and where fewer than one more is to
 * be expected. A worker that is at its limit has more rows than that after each call, and never waits.
 */
export class BatchWindow {
  readonly #limits: WindowLimits;
  readonly #cost = new CallCost();
  readonly #arrivals = new Arrivals();

  constructor(limits: WindowLimits) {
    this.#limits = limits;
  }

  /** A call of so many rows took so long. */
  called(rows: number, ms: number): void {
    this.#cost.add(rows, ms);
  }

  /** In the last `ms`, so many slots came back from their environments, and so many were away at its end. */
  passed(ms: number, arrived: number, away: number): void {
    this.#arrivals.add(ms, arrived, away);
  }

  /** How long a call waits for further observations at present, ms: 0, or the length of a timer at least. */
  get windowMs(): number {
    const { minRows, minWindowMs, maxWindowMs } = this.#limits;
    const { perMs, awayMs } = this.#arrivals;
    const gap = perMs > 0 ? 1 / perMs : Number.POSITIVE_INFINITY;
    const best = Math.sqrt((2 * this.#cost.fixedMs * awayMs) / THROUGHPUT_WORTH) - gap;
    const forRows = minRows > 1 && perMs > 0 ? (minRows - 1) * gap : 0;
    const window = Math.min(maxWindowMs, Math.max(minWindowMs, best, forRows));
    return window < LEAST_WAIT_MS ? 0 : window;
  }

  /** What to do with what there is. Never waits for longer than the window, with a full batch, or for nothing. */
  plan({ ready, oldestMs, away }: Gathered): Wait {
    const { capacity, minRows, maxWindowMs } = this.#limits;
    if (away === 0 || ready >= capacity || maxWindowMs < LEAST_WAIT_MS) return NOW;
    const window = this.windowMs;
    const ms = window - oldestMs;
    if (ms < LEAST_WAIT_MS) return NOW;
    const expected = Math.max(minRows, Math.ceil(1 + this.#arrivals.perMs * window));
    const rows = Math.min(capacity, ready + away, expected);
    return ready >= rows ? NOW : { ms, rows };
  }
}
