/** One figure is kept every so often, ms. */
const INTERVAL_MS = 2000;
/** And so many of them: four minutes. */
const KEPT = 120;

/** How many bytes were queued over the last minutes. */
export class QueueTrail {
  readonly #bytes: number[] = [];
  #addedAt = Number.NEGATIVE_INFINITY;

  /** To be called a few times a second; `now` in ms. */
  add(bytes: number, now: number): void {
    if (now - this.#addedAt < INTERVAL_MS) return;
    this.#addedAt = now;
    this.#bytes.push(bytes);
    if (this.#bytes.length > KEPT) this.#bytes.shift();
  }

  /** Oldest first. */
  get bytes(): number[] {
    return [...this.#bytes];
  }
}
