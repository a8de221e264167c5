/**
 * The clock of a worker's loop, ms. It stands still while the worker is held, so that nothing counts as waiting then. What
 * is done within one turn of the loop has the time of the turn's last `tick`: one look at the clock for all of it.
 */
export class LoopClock {
  #now = performance.now();
  #stillMs = 0;
  #stillSince: number | null = null;
  /** Events come one by one: each looks at the clock. */
  #isAwaiting = false;

  /** The time of the last `tick`, or of this moment while events are awaited. */
  get now(): number {
    return this.#isAwaiting ? this.tick() : this.#now;
  }

  tick(): number {
    this.#now = (this.#stillSince ?? performance.now()) - this.#stillMs;
    return this.#now;
  }

  /** Whether what happens from now on comes from outside, at times of its own. */
  setAwaiting(isAwaiting: boolean): void {
    this.#isAwaiting = isAwaiting;
    this.tick();
  }

  stand(): void {
    this.#stillSince ??= performance.now();
  }

  go(): void {
    if (this.#stillSince !== null) this.#stillMs += performance.now() - this.#stillSince;
    this.#stillSince = null;
  }
}
