import { encodeSight } from '../../trainer/policy/encode.ts';
import { createPolicy, type Policy } from '../../trainer/policy/inference.ts';
import { createObservationArrays, type ObservationArrays } from '../../trainer/policy/observation-arrays.ts';
import { createEncodingMemory } from '../../trainer/policy/observation-encoder.ts';
import { chooseAction } from '../../trainer/policy/sample-action.ts';
import { actionIndex, flatAction } from '../../trainer/policy/tokenizer.ts';
import { LabError } from '../domain/error.ts';
import { type ActionLayout, actionLayout, type PolicySpec } from '../domain/policy-spec.ts';
import { createRandom, type RandomStream } from '../domain/random.ts';
import type { Action, Observation } from '../domain/space.ts';
import type { Acting } from '../protocol/replay.ts';
import type { Actor, Choice } from './execute.ts';

/** A call takes rows by fours: with fewer, sums would differ in the last bit from those of the sampler. */
const ROWS = 4;

/** A policy whose weights of several versions are at hand. Only for a process that may load onnxruntime. */
export class PolicyBench {
  readonly spec: PolicySpec;
  readonly layout: ActionLayout;
  readonly arrays: ObservationArrays;
  readonly #policy: Policy;
  readonly #weights: ReadonlyMap<number, Float32Array>;
  #loaded: number | null = null;

  private constructor(spec: PolicySpec, policy: Policy, weights: ReadonlyMap<number, Float32Array>) {
    this.spec = spec;
    this.layout = actionLayout(spec);
    this.arrays = createObservationArrays(spec, ROWS);
    this.#policy = policy;
    this.#weights = weights;
  }

  /** `weights` may grow later. Throws as `createPolicy` does. */
  static async create(spec: PolicySpec, weights: ReadonlyMap<number, Float32Array>): Promise<PolicyBench> {
    return new PolicyBench(spec, await createPolicy(spec, { threads: 1 }), weights);
  }

  /** Log-probabilities [A] and the value of what is encoded in every row, by the policy of that version. */
  async ask(version: number): Promise<{ logProbabilities: Float32Array; value: number }> {
    if (version !== this.#loaded) {
      const weights = this.#weights.get(version);
      if (weights === undefined)
        throw new LabError('internal', { message: `no weights of policy v${version} came` });
      this.#policy.load(weights);
      this.#loaded = version;
    }
    const { logProbabilities, values } = await this.#policy.run(ROWS, this.arrays);
    return { logProbabilities: logProbabilities.subarray(0, this.layout.size), value: values[0] ?? 0 };
  }
}

/** Takes actions as the sampler does: the same weights, stream and observations give the same actions. */
export class PolicyActor implements Actor {
  readonly #bench: PolicyBench;
  readonly #acting: Acting;
  readonly #random: RandomStream;
  readonly #mask: Int32Array | Float32Array;
  readonly #memory = createEncodingMemory();
  /** Numeric features of each agent's newest observations; of the only one's under the empty name. */
  readonly #histories = new Map<string, (readonly number[])[]>();

  constructor(bench: PolicyBench, acting: Acting) {
    this.#bench = bench;
    this.#acting = acting;
    this.#random = createRandom(acting.seed);
    this.#mask = (bench.arrays.mask ?? new Float32Array(bench.layout.size)).subarray(0, bench.layout.size);
  }

  see({ features, agent }: Observation): void {
    const { spec } = this.#bench;
    if (spec.kind !== 'features') return;
    const seen = [...this.#historyOf(agent), features ?? []].slice(-spec.window);
    this.#histories.set(agent ?? '', seen);
  }

  #historyOf(agent: string | undefined): readonly (readonly number[])[] {
    return this.#histories.get(agent ?? '') ?? [];
  }

  async decide(observation: Observation, index: number): Promise<Choice> {
    const { spec, layout, arrays } = this.#bench;
    const { versions, mode, recorded } = this.#acting;
    const policyVersion = versions[Math.min(index, versions.length - 1)] ?? 0;
    const history = this.#historyOf(observation.agent);
    const sight = { observation, history, memory: this.#memory };
    for (let row = 0; row < ROWS; row++) {
      encodeSight(spec, layout, sight, arrays, row);
    }
    const { logProbabilities, value } = await this.#bench.ask(policyVersion);
    const chosen = chooseAction(logProbabilities, this.#mask, mode, this.#random);
    const was = recorded[index];
    return {
      action: flatAction(layout, observation, chosen),
      decision: {
        policyVersion,
        probability: Math.exp(logProbabilities[chosen] ?? 0),
        value,
        recordedProbability: was === undefined ? null : this.#probability(observation, was, logProbabilities),
      },
    };
  }

  #probability(observation: Observation, action: Action, logProbabilities: Float32Array): number | null {
    try {
      return Math.exp(logProbabilities[actionIndex(this.#bench.layout, observation, action)] ?? 0);
    } catch (thrown) {
      // Not on offer: the environment has answered otherwise before.
      if (thrown instanceof LabError && thrown.code === 'environment-invalid') return null;
      throw thrown;
    }
  }
}
