import { scrollTo } from './layout.ts';

/** A pointer on one row of a list that is all in memory, and the window around it. */
export class ListCursor {
  #selected = 0;
  #top = 0;

  get selected(): number {
    return this.#selected;
  }

  /** First row of the window. */
  get top(): number {
    return this.#top;
  }

  /** Moves the pointer within a list of `total` rows, of which `height` are seen; by 0, only puts it right. */
  move(by: number, total: number, height: number): void {
    this.#selected = Math.max(0, Math.min(total - 1, this.#selected + by));
    this.#top = Math.min(scrollTo(this.#selected, this.#top, height), Math.max(0, total - height));
  }

  reset(): void {
    this.#selected = 0;
    this.#top = 0;
  }
}
