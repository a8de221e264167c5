import type { SlotUse } from '../domain/pipeline.ts';

type Answer = readonly SlotUse[] | null;

/** The question what is in a worker's slots, put once for all who want to know it at the same time. */
export class SlotQuestion {
  readonly #waiting = new Set<(answer: Answer) => void>();

  /** Has `send` ask the worker, unless that has been done and is not answered. Null when there is no answer within so many ms. */
  async ask(send: () => void, timeoutMs: number): Promise<Answer> {
    const isAsked = this.#waiting.size > 0;
    return await new Promise((resolve) => {
      const settle = (answer: Answer): void => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        resolve(answer);
      };
      const timer = setTimeout(settle, timeoutMs, null);
      this.#waiting.add(settle);
      if (!isAsked) send();
    });
  }

  /** The worker has answered; null: it is gone. */
  answer(slots: Answer): void {
    for (const settle of this.#waiting) settle(slots);
  }
}
