/** Episodes that the share is judged by. */
const WINDOW = 200;

/** Notices when most episodes are void: a run that trains on the rest is broken, and somebody should look. */
export class VoidBreaker {
  readonly #limit: number;
  #episodes = 0;
  #void = 0;

  /** `limit`: share of void episodes, in (0, 1], that is still borne. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes note of an episode. Returns why the run should stop, or null. */
  observe(isVoid: boolean, detail: string | null): string | null {
    this.#episodes++;
    this.#void += Number(isVoid);
    if (this.#episodes < WINDOW) return null;
    const share = this.#void / this.#episodes;
    this.reset();
    if (share <= this.#limit) return null;
    const percent = Math.round(share * 100);
    return `${percent} % of the last ${WINDOW} episodes are void; the newest: ${detail ?? 'no detail'}`;
  }

  reset(): void {
    this.#episodes = 0;
    this.#void = 0;
  }
}
