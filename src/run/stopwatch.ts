/** Measures running time in seconds: stands still while stopped. */
export class Stopwatch {
  #total: number;
  #since: number | null = null;

  /** `startS`: seconds that have already been measured. */
  constructor(startS: number) {
    this.#total = startS;
  }

  start(): void {
    this.#since ??= performance.now();
  }

  stop(): void {
    this.#total = this.seconds();
    this.#since = null;
  }

  seconds(): number {
    return this.#total + (this.#since === null ? 0 : (performance.now() - this.#since) / 1000);
  }
}
