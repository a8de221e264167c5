import type { KnobValues } from '../../src/domain/knob.ts';
import type { RandomStream } from '../../src/domain/random.ts';

/**
 * Which samples make the next minibatch: passes over a batch, each in a new random order. Both knobs may change between two
 * minibatches. What is left at the end of a pass and does not fill a minibatch is dropped; a batch smaller than a minibatch
 * is one.
 */
export class MinibatchSchedule {
  readonly #count: number;
  readonly #random: RandomStream;
  #order: Int32Array;
  #cursor = 0;
  #epoch = 0;

  constructor(count: number, random: RandomStream) {
    this.#count = count;
    this.#random = random;
    this.#order = this.#shuffled();
  }

  /** Number of the pass from which the last minibatch was taken, from 0. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Whether there is another minibatch. */
  hasNext(knobs: KnobValues): boolean {
    return this.#epoch + (this.#passEnds(knobs) ? 1 : 0) < knobs.epochs;
  }

  /** The samples of the next minibatch. */
  next(knobs: KnobValues): Int32Array {
    if (this.#passEnds(knobs)) {
      this.#epoch++;
      this.#cursor = 0;
      this.#order = this.#shuffled();
    }
    const start = this.#cursor;
    this.#cursor += this.#size(knobs);
    return this.#order.subarray(start, this.#cursor);
  }

  /** How many minibatches there will be in all if the knobs stay. */
  total(knobs: KnobValues): number {
    return knobs.epochs * Math.floor(this.#count / this.#size(knobs));
  }

  #passEnds(knobs: KnobValues): boolean {
    return this.#cursor + this.#size(knobs) > this.#count;
  }

  #size(knobs: KnobValues): number {
    return Math.min(knobs.minibatch, this.#count);
  }

  #shuffled(): Int32Array {
    const order = Int32Array.from({ length: this.#count }, (_, i) => i);
    for (let i = this.#count - 1; i > 0; i--) {
      const j = this.#random.integer(i + 1);
      const kept = order[i] ?? 0;
      order[i] = order[j] ?? 0;
      order[j] = kept;
    }
    return order;
  }
}
