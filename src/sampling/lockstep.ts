/**
 * Keeps a worker in step with its run, where what is sampled shall depend on the order of messages and not on when they arrive:
 * before each batch the worker waits until the run has dealt with all that it was told.
 */
export class Lockstep {
  readonly #ask: (() => void) | null;
  #isBehind = false;
  #release: () => void = () => undefined;

  /** `ask` has the run answer when it has dealt with everything; null: the worker goes at its own pace. */
  constructor(ask: (() => void) | null) {
    this.#ask = ask;
  }

  /** Something was said that the run has not been asked about yet. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Something was said that the run may answer to. */
  spoke(): void {
    this.#isBehind = this.#ask !== null;
  }

  /** Waits for the run, if anything was said since the last time. */
  async catchUp(): Promise<void> {
    if (!this.#isBehind || this.#ask === null) return;
    this.#isBehind = false;
    const answered = new Promise<void>((resolve) => {
      this.#release = resolve;
    });
    this.#ask();
    await answered;
  }

  /** The run has answered, or nobody needs to wait for it any more. */
  release(): void {
    this.#release();
  }
}
