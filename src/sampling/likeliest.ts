import type { ActionLayout } from '../domain/policy-spec.ts';
import { ACTION_TYPES, ARGUMENT_TYPES, type ArgumentType, type Observation } from '../domain/space.ts';

/** A policy that is surer than this has no other action worth a place in the record. */
const SURE = 0.999;

/** Finds the likeliest actions of a step, for its record. One for all slots of a worker: what it finds is a new list each time. */
export class Likeliest {
  readonly #most: number;
  readonly #layout: ActionLayout;
  /** Flat indices of the likeliest so far, the likeliest first, and their log-probabilities. */
  readonly #places: Int32Array;
  readonly #values: Float32Array;

  /** `most`: 0 finds none. */
  constructor(most: number, layout: ActionLayout) {
    this.#most = most;
    this.#layout = layout;
    this.#places = new Int32Array(most);
    this.#values = new Float32Array(most);
  }

  /**
   * The likeliest legal actions as one flat list `which, probability, which, …`, `which` as in the record of a step. Undefined when
   * none are wanted, or the one that was taken is all but certain. `logProbabilities` and `mask` are [A].
   */
  find(
    probability: number,
    logProbabilities: Float32Array,
    mask: Int32Array | Float32Array,
    observation: Observation,
  ): readonly number[] | undefined {
    if (this.#most === 0 || probability > SURE) return undefined;
    const count = this.#select(logProbabilities, mask);
    const found: number[] = [];
    for (let i = 0; i < count; i++) {
      found.push(this.#which(this.#places[i] ?? 0, observation), Math.exp(this.#values[i] ?? 0));
    }
    return found;
  }

  /** By insertion: the list is short, and most actions are less likely than its last. Of equals the first stands first. */
  #select(logProbabilities: Float32Array, mask: Int32Array | Float32Array): number {
    const [places, values, most] = [this.#places, this.#values, this.#most];
    let count = 0;
    for (let i = 0; i < logProbabilities.length; i++) {
      if (!mask[i]) continue;
      const value = logProbabilities[i] ?? 0;
      if (count === most && value <= (values[most - 1] ?? 0)) continue;
      let at = count < most ? count++ : most - 1;
      for (; at > 0 && value > (values[at - 1] ?? 0); at--) {
        places[at] = places[at - 1] ?? 0;
        values[at] = values[at - 1] ?? 0;
      }
      places[at] = i;
      values[at] = value;
    }
    return count;
  }

  #which(index: number, { candidates }: Observation): number {
    const { blocks, bare, slots } = this.#layout;
    if (index >= slots) {
      const type = index === bare.confirm ? 'confirm' : index === bare.submit ? 'submit' : 'noop';
      return -1 - ACTION_TYPES.indexOf(type);
    }
    let type: ArgumentType = 'read';
    for (const each of ARGUMENT_TYPES) if (index >= blocks[each].start) type = each;
    let left = index - blocks[type].start;
    for (let place = 0; place < candidates.length; place++) {
      if (candidates[place]?.type === type && left-- === 0) return place;
    }
    return candidates.length;
  }
}
