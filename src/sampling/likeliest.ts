import type { EncodingMemory } from '../../trainer/policy/observation-encoder.ts';
import type { ActionChoice } from '../../trainer/policy/sample-action.ts';
import { candidatePlace } from '../../trainer/policy/tokenizer.ts';
import type { ActionLayout } from '../domain/policy-spec.ts';
import { ACTION_TYPES, type Observation } from '../domain/space.ts';

/** A policy that is surer than this has no other action worth a place in the record. */
const SURE = 0.999;

/** What is legal in a step, and how probable each is. */
type LegalActions = Pick<ActionChoice, 'count' | 'index' | 'log' | 'probability'>;

/** Finds the likeliest actions of a step, for its record. One for all slots of a worker: what it finds is a new list each time. */
export class Likeliest {
  readonly #most: number;
  readonly #layout: ActionLayout;
  /** Places of the likeliest so far among the legal actions, the likeliest first, and their log-probabilities. */
  readonly #places: Int32Array;
  readonly #values: Float64Array;

  /** `most`: 0 finds none. */
  constructor(most: number, layout: ActionLayout) {
    this.#most = most;
    this.#layout = layout;
    this.#places = new Int32Array(most);
    this.#values = new Float64Array(most);
  }

  /**
   * The likeliest legal actions as one flat list `which, probability, which, …`, `which` as in the record of a step. Undefined when
   * none are wanted, or the one that was taken, of this probability, is all but certain. `memory`: what the observation was encoded
   * with.
   */
  find(
    probability: number,
    actions: LegalActions,
    observation: Observation,
    memory?: EncodingMemory,
  ): readonly number[] | undefined {
    if (this.#most === 0 || probability > SURE) return undefined;
    const count = this.#select(actions);
    const found: number[] = [];
    for (let i = 0; i < count; i++) {
      const action = this.#places[i] ?? 0;
      found.push(this.#which(actions.index(action), observation, memory), actions.probability(action));
    }
    return found;
  }

  /** By insertion: the list is short, and most actions are less likely than its last. Of equals the first stands first. */
  #select(actions: LegalActions): number {
    const [places, values, most] = [this.#places, this.#values, this.#most];
    let count = 0;
    for (let i = 0; i < actions.count; i++) {
      const value = actions.log(i);
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

  #which(index: number, observation: Observation, memory: EncodingMemory | undefined): number {
    const { bare, slots } = this.#layout;
    if (index >= slots) {
      const type = index === bare.confirm ? 'confirm' : index === bare.submit ? 'submit' : 'noop';
      return -1 - ACTION_TYPES.indexOf(type);
    }
    const place = candidatePlace(this.#layout, observation, index, memory);
    return place < 0 ? observation.candidates.length : place;
  }
}
