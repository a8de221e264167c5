/** Steps a second. */
const SPEEDS = [1, 2, 4, 8] as const;

/** Goes through an episode by itself. */
export class Player {
  readonly #onStep: () => boolean;
  #speed = 0;
  #timer: NodeJS.Timeout | null = null;

  /** `onStep` goes a step on; false when there is none left. */
  constructor(onStep: () => boolean) {
    this.#onStep = onStep;
  }

  /** Steps a second; 0 while it rests. */
  get speed(): number {
    return this.#speed;
  }

  /** Begins to play; twice as fast if it plays already, and after the fastest from the slowest again. */
  faster(): void {
    const next = SPEEDS.findIndex((speed) => speed > this.#speed);
    this.#start(SPEEDS[next] ?? SPEEDS[0]);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#speed = 0;
  }

  #start(speed: number): void {
    this.stop();
    this.#speed = speed;
    this.#timer = setInterval(() => {
      if (!this.#onStep()) this.stop();
    }, 1000 / speed);
  }
}
