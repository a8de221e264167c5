import type { Policy } from '../../trainer/policy/inference.ts';
import { actionEntropy, chooseAction } from '../../trainer/policy/sample-action.ts';
import { encodeObservation, flatAction } from '../../trainer/policy/tokenizer.ts';
import { errorText } from '../domain/error.ts';
import { type ActionLayout, CANDIDATE_TOKENS, type PolicySpec } from '../domain/policy-spec.ts';
import type { Slot } from './slot.ts';

/** Where one call's time went, in ms. */
export interface BatchTimes {
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
  readonly #tokens: Int32Array;
  readonly #candidates: Int32Array;
  readonly #mask: Float32Array;

  constructor(spec: PolicySpec, layout: ActionLayout, capacity: number) {
    this.#spec = spec;
    this.#layout = layout;
    this.#tokens = new Int32Array(capacity * spec.sentences * spec.tokens);
    this.#candidates = new Int32Array(capacity * layout.slots * CANDIDATE_TOKENS);
    this.#mask = new Float32Array(capacity * layout.size);
  }

  /** Asks the policy about every slot's observation, and lets each act. A slot whose observation is bad fails alone. */
  async run(slots: readonly Slot[], policy: Policy, policyVersion: number): Promise<BatchTimes> {
    const started = performance.now();
    const encoded = this.#encode(slots);
    const n = encoded.length;
    const encodedAt = performance.now();
    const { tokens, candidates, mask } = this.#views(0, n);
    const { logProbabilities, values } = await policy.run(n, tokens, candidates, mask);
    const answeredAt = performance.now();
    for (const [row, slot] of encoded.entries()) {
      const value = values[row] ?? 0;
      if (slot.state === 'closing') slot.bootstrap(value);
      else this.#tryAct(slot, { row, logProbabilities, value, policyVersion });
    }
    return {
      encodeMs: encodedAt - started,
      inferenceMs: answeredAt - encodedAt,
      stepMs: performance.now() - answeredAt,
    };
  }

  #encode(slots: readonly Slot[]): Slot[] {
    const encoded: Slot[] = [];
    const out = { tokens: this.#tokens, candidates: this.#candidates, mask: this.#mask };
    for (const slot of slots) {
      try {
        encodeObservation(this.#spec, this.#layout, slot.observation, out, encoded.length);
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
    const { row, value, policyVersion } = answer;
    const { size } = this.#layout;
    const logProbabilities = answer.logProbabilities.subarray(row * size, (row + 1) * size);
    const views = this.#views(row, row + 1);
    const index = chooseAction(logProbabilities, views.mask, slot.mode, slot.random);
    slot.act(
      {
        action: flatAction(this.#layout, slot.observation, index),
        probability: Math.exp(logProbabilities[index] ?? 0),
        value,
        entropy: actionEntropy(logProbabilities, views.mask),
        policyVersion,
      },
      { ...views, logProbabilities, action: index, value, policyVersion },
    );
  }

  #views(from: number, to: number): { tokens: Int32Array; candidates: Int32Array; mask: Float32Array } {
    const part = <T extends Int32Array | Float32Array>(all: T, width: number): T =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- subarray keeps the class of its array
      all.subarray(from * width, to * width) as T;
    return {
      tokens: part(this.#tokens, this.#spec.sentences * this.#spec.tokens),
      candidates: part(this.#candidates, this.#layout.slots * CANDIDATE_TOKENS),
      mask: part(this.#mask, this.#layout.size),
    };
  }
}
