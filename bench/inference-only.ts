import { findEnvironment } from '../envs/registry.ts';
import { loadConfig } from '../src/config/load.ts';
import { actionLayout, type PolicySpec } from '../src/domain/policy-spec.ts';
import { createRandom, deriveSeed } from '../src/domain/random.ts';
import type { Observation } from '../src/domain/space.ts';
import { encodeSight } from '../trainer/policy/encode.ts';
import { createPolicy, type Policy } from '../trainer/policy/inference.ts';
import { createObservationArrays } from '../trainer/policy/observation-arrays.ts';
import { createEncodingMemory } from '../trainer/policy/observation-encoder.ts';
import { initialWeights } from '../trainer/policy/parameters.ts';
import { chooseAction } from '../trainer/policy/sample-action.ts';
import { flatAction } from '../trainer/policy/tokenizer.ts';

/**
 * A process of the rollout benchmark: asks the policy about what a worker's slots saw, in the order in which a worker asks,
 * for so many seconds, and prints rows/s of the policy's own time. The observations are those of real episodes of the
 * untrained policy, recorded beforehand: what the policy computes depends on what each slot saw before. They are encoded
 * between the calls, which is not counted.
 *
 *     inference-only.ts SECONDS SLOTS
 */

/** One call: whose observations. */
type Call = readonly { readonly slot: number; readonly observation: Observation }[];

/** Looks of each slot that are recorded, at least; and rows in all, at least. */
const LOOKS = 8;
const ROWS = 16_384;
/** Looks before that: by then the slots' episodes have come apart. */
const LEAD = 8;

const [seconds, slots] = [Number(process.argv[2]), Number(process.argv[3])];
const { config } = loadConfig(null, { file: 'demo' });
const rows = Math.min(config.sampling.slice, slots);
const callsOfLook = Math.ceil(slots / rows);
const weights = initialWeights(config.policy, 1);

/** A spec is what encoders' memories hang on: with another one, nothing is remembered. */
function freshSpec(): PolicySpec {
  return { ...config.policy };
}

/** Encodes the observations of a call, and asks the policy about them. */
class Asker {
  readonly #spec: PolicySpec = freshSpec();
  readonly #layout = actionLayout(this.#spec);
  readonly #memories = Array.from({ length: slots }, createEncodingMemory);
  readonly #policy: Policy;
  readonly arrays = createObservationArrays(this.#spec, Math.ceil(rows / 4) * 4);
  /** ms in the policy so far. */
  askedMs = 0;

  constructor(policy: Policy) {
    this.#policy = policy;
    policy.load(weights.slice());
  }

  async ask(call: Call): ReturnType<Policy['run']> {
    for (const [row, { slot, observation }] of call.entries()) {
      const sight = { observation, history: [], memory: this.#memories[slot] ?? createEncodingMemory() };
      encodeSight(this.#spec, this.#layout, sight, this.arrays, row);
    }
    const readers = Int32Array.from(call, ({ slot }) => slot);
    const started = performance.now();
    const answer = await this.#policy.run(Math.ceil(call.length / 4) * 4, this.arrays, readers);
    this.askedMs += performance.now() - started;
    return answer;
  }
}

/** Plays with the policy, and keeps what the slots saw. */
async function record(policy: Policy): Promise<Call[]> {
  const definition = await findEnvironment(config.env.name);
  const { env, families } = definition.catalog;
  const layout = actionLayout(config.policy);
  const random = createRandom(1);
  let episodes = 0;
  const seats = Array.from({ length: slots }, () => ({
    environment: definition.create(config.env.options),
    steps: 0,
  }));
  const begin = async (slot: number): Promise<Observation> => {
    const n = episodes++;
    const { name = '', train = 1 } = families[n % families.length] ?? {};
    const task = definition.createTask({ env, family: name, split: 'train', index: n % train });
    seats[slot]!.steps = 0;
    return await seats[slot]!.environment.reset(task, deriveSeed('inference-only', n));
  };
  const asker = new Asker(policy);
  const seen = await Promise.all(seats.map(async (_, slot) => await begin(slot)));
  const looks = LEAD + Math.max(LOOKS, Math.ceil(ROWS / slots));
  const calls: Call[] = [];
  for (let first = 0; calls.length < looks * callsOfLook; first = (first + rows) % slots) {
    const call = Array.from({ length: rows }, (_, i) => {
      const slot = (first + i) % slots;
      return { slot, observation: seen[slot]! };
    });
    calls.push(call);
    const { logProbabilities } = await asker.ask(call);
    for (const [row, { slot, observation }] of call.entries()) {
      const [from, to] = [row * layout.size, (row + 1) * layout.size];
      const mask = asker.arrays.mask!.subarray(from, to);
      const index = chooseAction(logProbabilities.subarray(from, to), mask, 'sampled', random);
      const result = await seats[slot]!.environment.step(flatAction(layout, observation, index));
      const isOver = result.terminated || ++seats[slot]!.steps >= config.sampling.maxSteps;
      seen[slot] = isOver ? await begin(slot) : result.observation;
    }
  }
  return calls.slice(LEAD * callsOfLook);
}

const policy = await createPolicy(config.policy, {
  threads: config.sampling.inferenceThreads,
  providers: config.sampling.providers,
  allowFallback: config.sampling.allowFallback,
});
const calls = await record(policy);
let [done, askedMs] = [0, 0];
const started = performance.now();
while (performance.now() - started < seconds * 1000) {
  const asker = new Asker(policy);
  // A slot's first look of a pass goes on from nothing: it is not counted.
  for (const call of calls.slice(0, callsOfLook)) await asker.ask(call);
  asker.askedMs = 0;
  for (const call of calls.slice(callsOfLook)) await asker.ask(call);
  done += (calls.length - callsOfLook) * rows;
  askedMs += asker.askedMs;
}
console.log((done * 1000) / askedMs);
process.exit(0);
