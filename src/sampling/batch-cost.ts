/** Calls and arrivals further back than this, in ms, count for little. */
const MEMORY_MS = 2000;
/** Calls further back than so many count for little. */
const MEMORY_CALLS = 500;
/** A call that took so many times the mean was interrupted, by a collection of garbage or another process. */
const INTERRUPTED = 3;
/** Spread of batch sizes, as a part of their mean, below which nothing can be told from it. */
const LEAST_SPREAD = 0.02;

/**
 * What a call costs: ms = `fixed` + `perRow` × rows, by least squares over the newest calls, older ones weighing
 * exponentially less. While all calls are of one size the whole cost counts as fixed: longer windows then make others.
 */
export class CallCost {
  #weight = 0;
  #rows = 0;
  #ms = 0;
  #rowsSquared = 0;
  #rowsMs = 0;

  /** A call of so many rows took so long. */
  add(rows: number, ms: number): void {
    const bounded = this.#weight > 0 ? Math.min(ms, INTERRUPTED * this.meanMs) : ms;
    const keep = 1 - 1 / MEMORY_CALLS;
    this.#weight = this.#weight * keep + 1;
    this.#rows = this.#rows * keep + rows;
    this.#ms = this.#ms * keep + bounded;
    this.#rowsSquared = this.#rowsSquared * keep + rows * rows;
    this.#rowsMs = this.#rowsMs * keep + rows * bounded;
  }

  /** Mean length of a call, ms; 0 before there was one. */
  get meanMs(): number {
    return this.#weight === 0 ? 0 : this.#ms / this.#weight;
  }

  /** ms that a call costs whatever its rows; between 0 and the mean. */
  get fixedMs(): number {
    if (this.#weight === 0) return 0;
    const rows = this.#rows / this.#weight;
    const variance = this.#rowsSquared / this.#weight - rows * rows;
    const covariance = this.#rowsMs / this.#weight - rows * this.meanMs;
    // Ridge regression: without spread the slope is 0.
    const slope = covariance / (variance + (LEAST_SPREAD * rows) ** 2);
    return Math.min(this.meanMs, Math.max(0, this.meanMs - slope * rows));
  }
}

/** How many slots come back from their environments in a ms, and how long they are away, by the newest few seconds. */
export class Arrivals {
  #ms = 0;
  #arrived = 0;
  #away = 0;

  /** In the last `ms`, so many came back, and so many were away at its end. */
  add(ms: number, arrived: number, away: number): void {
    const keep = Math.exp(-ms / MEMORY_MS);
    this.#ms = this.#ms * keep + ms;
    this.#arrived = this.#arrived * keep + arrived;
    this.#away = this.#away * keep + away * ms;
  }

  /** Arrivals in a ms; 0 while none is known. */
  get perMs(): number {
    return this.#ms <= 0 ? 0 : Math.max(0, this.#arrived / this.#ms);
  }

  /** How many are away in the mean. */
  get meanAway(): number {
    return this.#ms <= 0 ? 0 : this.#away / this.#ms;
  }

  /** How long a slot is away, ms, by Little's law: those away = arrivals in a ms × ms away. 0 while none is known. */
  get awayMs(): number {
    return this.#arrived <= 0 ? 0 : this.#away / this.#arrived;
  }
}
