/** How far back the rate looks. */
const WINDOW_MS = 600_000;
/** No rate is told before so much time has been seen. */
const LEAST_MS = 30_000;

/** How fast a run's directory grows. What is given back by compaction does not count against what is added. */
export class StoreGrowth {
  readonly #points: { readonly time: number; readonly added: number }[] = [];
  #bytes: number | null = null;
  #added = 0;

  /** Takes a measurement; times, in ms, ascend. */
  observe(time: number, bytes: number): void {
    if (this.#bytes !== null) this.#added += Math.max(0, bytes - this.#bytes);
    this.#bytes = bytes;
    this.#points.push({ time, added: this.#added });
    while ((this.#points[1]?.time ?? time) <= time - WINDOW_MS) this.#points.shift();
  }

  /** The newest measurement; 0 before the first. */
  get bytes(): number {
    return this.#bytes ?? 0;
  }

  /** Over the last ten minutes, or what there is of them; null at first. */
  get bytesPerHour(): number | null {
    const [first, last] = [this.#points[0], this.#points.at(-1)];
    if (first === undefined || last === undefined || last.time - first.time < LEAST_MS) return null;
    return ((last.added - first.added) / (last.time - first.time)) * 3_600_000;
  }

  /** Seconds until `room` more bytes are used up at this rate; null where nobody can say. */
  secondsUntil(room: number): number | null {
    const rate = this.bytesPerHour;
    if (rate === null || rate <= 0) return null;
    return (Math.max(0, room) / rate) * 3600;
  }
}
