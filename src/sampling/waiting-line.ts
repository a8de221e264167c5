/**
 * A list of what waits, and how long all of it together has waited: by the area under its length, so that nothing is kept
 * for each. Times in ms, by a clock that never goes back.
 */
export class WaitingLine<Item> {
  readonly #items: Item[] = [];
  #at = 0;
  #waitedMs = 0;
  #oldestSince = 0;

  get length(): number {
    return this.#items.length;
  }

  /** How long the first has waited, or longer: where some were taken before it, as long as they. 0 when there is none. */
  oldestMs(now: number): number {
    return this.#items.length === 0 ? 0 : now - this.#oldestSince;
  }

  /** Since when there is a first one. */
  get oldestSince(): number {
    return this.#oldestSince;
  }

  push(item: Item, now: number): void {
    this.#pass(now);
    if (this.#items.length === 0) this.#oldestSince = now;
    this.#items.push(item);
  }

  /** The newest, which leaves. */
  pop(now: number): Item | undefined {
    this.#pass(now);
    return this.#items.pop();
  }

  /** This one leaves, wherever it stands. False when it is not here. */
  remove(item: Item, now: number): boolean {
    const at = this.#items.indexOf(item);
    if (at < 0) return false;
    this.#pass(now);
    this.#items.splice(at, 1);
    return true;
  }

  /** The oldest, `most` at most, which leave. */
  shift(most: number, now: number): Item[] {
    this.#pass(now);
    return this.#items.splice(0, most);
  }

  /** Sum of what each has waited since the last call, ms. */
  takeWaited(now: number): number {
    this.#pass(now);
    const waited = this.#waitedMs;
    this.#waitedMs = 0;
    return waited;
  }

  #pass(now: number): void {
    const ms = now - this.#at;
    if (ms <= 0) return;
    this.#waitedMs += ms * this.#items.length;
    this.#at = now;
  }
}
