import { type ActionLayout, CANDIDATE_TOKENS, type PolicySpec } from '../domain/policy-spec.ts';
import { type Attachments, bytesOf } from '../protocol/frame.ts';

/** One row of what the policy was given and what it answered, as views into a batch. */
export interface SampleRow {
  readonly tokens: Int32Array;
  readonly candidates: Int32Array;
  readonly mask: Float32Array;
  readonly logProbabilities: Float32Array;
  readonly action: number;
  readonly value: number;
  readonly policyVersion: number;
}

/** The trainer's tensors of one episode, filled step by step; reused by the slot for the next episode. */
export class SampleBuffer {
  readonly #tokens: Uint16Array;
  readonly #candidates: Uint16Array;
  readonly #mask: Uint8Array;
  readonly #actions: Uint16Array;
  readonly #logProbabilities: Float32Array;
  readonly #values: Float32Array;
  readonly #rewards: Float32Array;
  readonly #versions: Uint32Array;
  #length = 0;

  constructor(spec: PolicySpec, layout: ActionLayout, maxSteps: number) {
    this.#tokens = new Uint16Array(maxSteps * spec.sentences * spec.tokens);
    this.#candidates = new Uint16Array(maxSteps * layout.slots * CANDIDATE_TOKENS);
    this.#mask = new Uint8Array(maxSteps * layout.size);
    this.#actions = new Uint16Array(maxSteps);
    this.#logProbabilities = new Float32Array(maxSteps * layout.size);
    this.#values = new Float32Array(maxSteps);
    this.#rewards = new Float32Array(maxSteps);
    this.#versions = new Uint32Array(maxSteps);
  }

  clear(): void {
    this.#length = 0;
  }

  push(row: SampleRow): void {
    const step = this.#length++;
    this.#tokens.set(row.tokens, step * row.tokens.length);
    this.#candidates.set(row.candidates, step * row.candidates.length);
    this.#mask.set(row.mask, step * row.mask.length);
    this.#logProbabilities.set(row.logProbabilities, step * row.logProbabilities.length);
    this.#actions[step] = row.action;
    this.#values[step] = row.value;
    this.#versions[step] = row.policyVersion;
  }

  /** The reward of the step that was pushed last. */
  setReward(reward: number): void {
    this.#rewards[this.#length - 1] = reward;
  }

  /** Copies of the filled parts, ready to send. */
  tensors(): Attachments {
    const n = this.#length;
    const part = (all: Uint8Array | Uint16Array | Uint32Array | Float32Array): Uint8Array =>
      bytesOf(all.slice(0, (all.length / this.#actions.length) * n));
    return {
      tokens: part(this.#tokens),
      candidates: part(this.#candidates),
      mask: part(this.#mask),
      actions: part(this.#actions),
      logProbabilities: part(this.#logProbabilities),
      values: part(this.#values),
      rewards: part(this.#rewards),
      versions: part(this.#versions),
    };
  }
}
