import type { Config } from '../config/schema.ts';

/** What the breaker follows of a config. */
type Rules = Pick<Config['supervision'], 'voidShare' | 'voidWindow'>;

/** Notices when too many of the newest episodes are void: a run that trains on the rest is broken, and somebody should look. */
export class VoidBreaker {
  readonly #limit: number;
  readonly #window: number;
  /** Whether each of the newest episodes was void; the one to be forgotten next stands at `#next`. */
  #newest: boolean[] = [];
  #next = 0;
  #void = 0;

  /**
   * `voidShare`: share of void episodes, in (0, 1], that is still borne, among the newest `voidWindow`, or as many as there are
   * slots, if these are more. Fewer would be a moment of the run, and not a fair one: while samplers wait for an update no
   * episode ends but those whose steps hang, and all of these one after the other.
   */
  constructor({ voidShare, voidWindow }: Rules, slots: number) {
    this.#limit = voidShare;
    this.#window = Math.max(voidWindow, slots);
  }

  /**
   * Takes note of an episode. Returns why the run should stop, or null; having said so, it counts from the start. It does not
   * wait for the window to fill when enough are void to pass the limit whatever comes.
   */
  observe(isVoid: boolean, detail: string | null): string | null {
    this.#void += Number(isVoid) - Number(this.#newest[this.#next] ?? false);
    this.#newest[this.#next] = isVoid;
    this.#next = (this.#next + 1) % this.#window;
    if (this.#void <= this.#limit * this.#window) return null;
    const seen = this.#newest.length;
    const percent = Math.round((this.#void / seen) * 100);
    this.reset();
    return `${percent} % of the last ${seen} episodes are void; the newest: ${detail ?? 'no detail'}`;
  }

  /** Forgets what it has seen. */
  reset(): void {
    this.#newest = [];
    this.#next = 0;
    this.#void = 0;
  }
}
