import type { Session } from './session.ts';

/** Ms between two frames of new data at least. Keys do not wait for it, and what they lead to does not either. */
const DATA_FRAME_MS = 33;

/**
 * Says when the session is to be drawn again: what changes together is drawn together, a few times a second, and what a key
 * has changed at once.
 */
export class FrameClock {
  readonly #session: Session;
  #draw: (() => void) | null = null;
  #dataDrawnAt = -Infinity;
  #waiting: NodeJS.Timeout | null = null;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Calls `draw` whenever it is time, until the answer is called. For one listener. */
  readonly subscribe = (draw: () => void): (() => void) => {
    this.#draw = draw;
    const unsubscribe = this.#session.subscribe(() => this.#soon());
    return () => {
      unsubscribe();
      this.#stopWaiting();
      this.#draw = null;
    };
  };

  /** It is time now: a key was pressed, or the terminal has another size. */
  now(): void {
    this.#stopWaiting();
    this.#draw?.();
  }

  #soon(): void {
    if (this.#waiting !== null) return;
    const wait = Math.max(0, this.#dataDrawnAt + DATA_FRAME_MS - performance.now());
    this.#waiting = setTimeout(() => {
      this.#dataDrawnAt = performance.now();
      this.now();
    }, wait);
  }

  #stopWaiting(): void {
    if (this.#waiting !== null) clearTimeout(this.#waiting);
    this.#waiting = null;
  }
}
