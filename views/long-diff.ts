import type { LongComparison } from '../src/replay/long-comparison.ts';
import { formatCount } from './format.ts';
import type { Toast } from './toast.ts';

/** Parts of a comparison of which the screen tells: in line mode each is a line of its own. */
const PARTS = 10;

/** What is told while a comparison goes on, and how it is given up. */
export interface ComparisonTerms {
  readonly onProgress: (step: number, of: number) => void;
  readonly signal: AbortSignal;
}

/** The comparison of long episodes that goes on beside the drawing: one at a time, and the user may give it up. */
export class LongDiff {
  readonly #onChange: () => void;
  #running: AbortController | null = null;
  #text = '';

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** How far it is, for the line of messages; null when none goes on. */
  get toast(): Toast | null {
    if (this.#running === null) return null;
    return { text: `${this.#text}: Esc gives it up`, tone: 'plain', until: Number.POSITIVE_INFINITY };
  }

  /** Begins one, in place of another that still goes on. `text` is shown until there are steps to count. */
  async run(
    text: string,
    compare: (terms: ComparisonTerms) => Promise<LongComparison | null>,
  ): Promise<LongComparison | null> {
    this.cancel();
    const running = new AbortController();
    this.#running = running;
    this.#text = text;
    const onProgress = (step: number, of: number): void => {
      const told = Math.floor((step / of) * PARTS) * Math.ceil(of / PARTS);
      this.#say(running, `comparing ${formatCount(Math.min(told, of))} of ${formatCount(of)} steps`);
    };
    try {
      return await compare({ onProgress, signal: running.signal });
    } finally {
      if (this.#running === running) this.#running = null;
    }
  }

  /** Returns whether there was one. */
  cancel(): boolean {
    const running = this.#running;
    this.#running = null;
    running?.abort();
    return running !== null;
  }

  #say(running: AbortController, text: string): void {
    if (this.#running !== running || this.#text === text) return;
    this.#text = text;
    this.#onChange();
  }
}
