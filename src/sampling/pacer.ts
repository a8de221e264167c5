/** Full speed is measured over so long at least, ms. */
const MEASURE_MS = 250;
/** How much the newest measurement of full speed counts. */
const NEWEST = 0.3;
/** Steps that were not made for longer, while environments were waited for, are not made up for: that would be a burst. */
const MOST_BEHIND_MS = 100;

/**
 * Slows a worker's loop down to a part of its full speed, by short rests after each slice. Full speed is steps per second while
 * the pace was 1, waiting for environments included: a worker that mostly waits for them is slowed down as well.
 */
export class Pacer {
  readonly #onRested: (ms: number) => void;
  #pace = 1;
  /** Steps per ms at full speed; null until it was measured. */
  #fullSpeed: number | null = null;
  #measuredSince: number | null = null;
  #measuredSteps = 0;
  #sliceBegan = performance.now();
  /** When the next slice would begin at the pace wanted. */
  #due = 0;
  #restSince: number | null = null;
  #timer: NodeJS.Timeout | null = null;

  /** `onRested` hears of the end of each rest and its length, in ms. */
  constructor(onRested: (ms: number) => void) {
    this.#onRested = onRested;
  }

  /** Whether stepping has to wait. */
  get resting(): boolean {
    return this.#restSince !== null;
  }

  /** Takes a new pace over, in (0, 1], at once: a rest made for another pace ends. */
  setPace(pace: number): void {
    if (pace === this.#pace) return;
    this.interrupt();
    this.#pace = pace;
  }

  /** Stepping stands still, or goes on, for another reason: ends the rest, and measures anew from here. */
  interrupt(): void {
    this.#endRest();
    this.#measuredSince = null;
    this.#sliceBegan = performance.now();
    this.#due = this.#sliceBegan;
  }

  /** So many steps were made since the last slice or rest: begins the rest that they ask for. */
  stepped(steps: number): void {
    const now = performance.now();
    const sliceMs = now - this.#sliceBegan;
    this.#sliceBegan = now;
    if (this.#pace === 1) {
      this.#measure(now, steps);
      return;
    }
    const speed = this.#fullSpeed ?? steps / Math.max(1, sliceMs);
    this.#due = Math.max(this.#due, now - Math.max(sliceMs, MOST_BEHIND_MS)) + steps / (speed * this.#pace);
    const restMs = this.#due - now;
    // A timer cannot be asked for less.
    if (restMs < 1) return;
    this.#restSince = now;
    this.#timer = setTimeout(() => this.#endRest(), restMs);
  }

  #endRest(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#restSince === null) return;
    this.#sliceBegan = performance.now();
    const ms = this.#sliceBegan - this.#restSince;
    this.#restSince = null;
    this.#onRested(ms);
  }

  #measure(now: number, steps: number): void {
    if (this.#measuredSince === null) {
      this.#measuredSince = now;
      this.#measuredSteps = 0;
      return;
    }
    this.#measuredSteps += steps;
    const ms = now - this.#measuredSince;
    if (ms < MEASURE_MS) return;
    const speed = this.#measuredSteps / ms;
    this.#fullSpeed = this.#fullSpeed === null ? speed : (1 - NEWEST) * this.#fullSpeed + NEWEST * speed;
    this.#measuredSince = null;
  }
}
