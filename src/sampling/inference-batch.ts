import { encodeSight } from '../../trainer/policy/encode.ts';
import type { Policy } from '../../trainer/policy/inference.ts';
import { createObservationArrays, type ObservationArrays } from '../../trainer/policy/observation-arrays.ts';
import { ActionChoice } from '../../trainer/policy/sample-action.ts';
import { flatAction } from '../../trainer/policy/tokenizer.ts';
import { errorText } from '../domain/error.ts';
import type { ActionLayout, PolicySpec } from '../domain/policy-spec.ts';
import type { Likeliest } from './likeliest.ts';
import type { Slot } from './slot.ts';

/** What one call did, and where its time went, in ms. */
export interface BatchTimes {
  /** Actions taken: a last look at a truncated episode is none. */
  steps: number;
  encodeMs: number;
  inferenceMs: number;
  stepMs: number;
}

/** What the policy said of one row; the log-probabilities are those of all rows. */
interface Answer {
  readonly row: number;
  readonly logProbabilities: Float32Array;
  readonly value: number;
  readonly policyVersion: number;
}

/** Buffers for the largest batch, and the way of a batch through the policy. */
export class InferenceBatch {
  readonly #spec: PolicySpec;
  readonly #layout: ActionLayout;
  readonly #likeliest: Likeliest | undefined;
  readonly #arrays: ObservationArrays;
  /** [capacity, A] */
  readonly #mask: Int32Array | Float32Array;
  readonly #choice: ActionChoice;
  /** Of each row, the number of whoever sees it: an agent of a slot. */
  readonly #readers: Int32Array;

  /** `likeliest`: absent, the record of a step does not hold the likeliest actions. */
  constructor(spec: PolicySpec, layout: ActionLayout, capacity: number, likeliest?: Likeliest) {
    this.#likeliest = likeliest;
    this.#spec = spec;
    this.#layout = layout;
    this.#arrays = createObservationArrays(spec, capacity);
    this.#readers = new Int32Array(capacity);
    this.#choice = new ActionChoice(layout.size);
    this.#mask = this.#arrays.mask ?? new Float32Array(capacity * layout.size);
  }

  /** Asks the policy about every slot's observation, and lets each act. A slot whose observation is bad fails alone. */
  async run(slots: readonly Slot[], policy: Pick<Policy, 'run'>, policyVersion: number): Promise<BatchTimes> {
    const started = performance.now();
    const encoded = this.#encode(slots);
    const n = encoded.length;
    const encodedAt = performance.now();
    if (n === 0) return { steps: 0, encodeMs: encodedAt - started, inferenceMs: 0, stepMs: 0 };
    const { logProbabilities, values } = await policy.run(n, this.#arrays, this.#readers.subarray(0, n));
    const answeredAt = performance.now();
    let steps = 0;
    for (let row = 0; row < n; row++) {
      const slot = encoded[row];
      if (slot === undefined) continue;
      const value = values[row] ?? 0;
      if (slot.state === 'closing') slot.bootstrap(value);
      else {
        this.#tryAct(slot, { row, logProbabilities, value, policyVersion });
        steps++;
      }
    }
    return {
      steps,
      encodeMs: encodedAt - started,
      inferenceMs: answeredAt - encodedAt,
      stepMs: performance.now() - answeredAt,
    };
  }

  #encode(slots: readonly Slot[]): Slot[] {
    const encoded: Slot[] = [];
    for (const slot of slots) {
      try {
        encodeSight(this.#spec, this.#layout, slot, this.#arrays, encoded.length);
        this.#readers[encoded.length] = slot.reader;
        encoded.push(slot);
      } catch (thrown) {
        slot.fail('env_crash', errorText(thrown));
      }
    }
    return encoded;
  }

  /** An observation that offers nothing to choose from fails its own slot only. */
  #tryAct(slot: Slot, answer: Answer): void {
    try {
      this.#act(slot, answer);
    } catch (thrown) {
      slot.fail('env_crash', errorText(thrown));
    }
  }

  #act(slot: Slot, answer: Answer): void {
    const { row, logProbabilities, value, policyVersion } = answer;
    const choice = this.#choice;
    choice.read({ logProbabilities, mask: this.#mask, at: row * this.#layout.size });
    const chosen = choice.choose(slot.mode, slot.random);
    const index = choice.index(chosen);
    const probability = choice.probability(chosen);
    const { observation, memory } = slot;
    slot.act(
      {
        action: flatAction(this.#layout, observation, index, memory),
        probability,
        value,
        entropy: choice.entropy(),
        policyVersion,
        likeliest: this.#likeliest?.find(probability, choice, observation, memory),
      },
      {
        row,
        observations: this.#arrays,
        logProbabilities,
        action: index,
        value,
        policyVersion,
      },
    );
  }
}
