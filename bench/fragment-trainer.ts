import type { Environment, EnvironmentDefinition, StepResult } from '../envs/contract.ts';
import { ENVIRONMENTS } from '../envs/registry.ts';
import { episodeId } from '../src/domain/id.ts';
import type { KnobValues } from '../src/domain/knob.ts';
import { type ActionLayout, actionLayout, type FeaturesPolicySpec } from '../src/domain/policy-spec.ts';
import { createRandom, deriveSeed, type RandomStream } from '../src/domain/random.ts';
import type { RewardRules } from '../src/domain/reward.ts';
import type { Action, Observation } from '../src/domain/space.ts';
import type { TrainerOptions } from '../src/domain/trainer-options.ts';
import { type Aggregator, createAggregator } from '../src/rewards/aggregator.ts';
import { SampleBuffer, type SampleRow } from '../src/sampling/sample-buffer.ts';
import { encodeSight } from '../trainer/policy/encode.ts';
import { createPolicy, type InferenceResult, type Policy } from '../trainer/policy/inference.ts';
import { createObservationArrays, type ObservationArrays } from '../trainer/policy/observation-arrays.ts';
import { initialWeights } from '../trainer/policy/parameters.ts';
import { chooseAction } from '../trainer/policy/sample-action.ts';
import { flatAction } from '../trainer/policy/tokenizer.ts';
import { type EpisodeSamples, joinEpisodes, readSamples } from '../trainer/ppo/batch.ts';
import { type FlatWeights, GradientStepper } from '../trainer/ppo/gradient-step.ts';
import { runUpdate } from '../trainer/ppo/update.ts';

/*
 * PPO as it is usually run on small numeric tasks: a few environments, of each a fragment of so many steps for every update,
 * whether episodes have ended or not. All in one process; the policy, the losses, the updates are the lab's own.
 */

export interface FragmentSettings {
  /** Of the registry; its first family is played. */
  readonly env: string;
  readonly policy: FeaturesPolicySpec;
  readonly rewards: RewardRules;
  readonly trainer: TrainerOptions;
  readonly knobs: KnobValues;
  /** Whether the learning rate falls to 0 in a straight line, once an update. */
  readonly anneal: boolean;
  readonly environments: number;
  /** Steps of each environment in one update. */
  readonly fragment: number;
  /** Env steps of all environments together. */
  readonly totalSteps: number;
  readonly maxSteps: number;
  readonly seed: number;
}

export interface FinishedEpisode {
  /** Env steps so far, of all environments. */
  readonly at: number;
  readonly reward: number;
  readonly steps: number;
  readonly success: boolean;
}

/** Trains from fresh weights, and tells of each episode that ends. Throws when an update is refused. */
export async function trainOnFragments(
  settings: FragmentSettings,
  onEpisode: (episode: FinishedEpisode) => void,
): Promise<void> {
  const { policy: spec, trainer, seed, environments, fragment, totalSteps } = settings;
  const rollout = new Rollout(settings, await createPolicy(spec, { threads: 1 }), onEpisode);
  const stepper = await GradientStepper.create(spec, trainer, trainer.threads);
  const weights = initialWeights(spec, seed, trainer.initialisation);
  const random = createRandom(deriveSeed(seed, 'minibatches'));
  let now: FlatWeights & { readonly adamStep: number } = {
    weights,
    optimiser: new Float32Array(2 * weights.length),
    adamStep: 0,
  };
  const updates = Math.floor(totalSteps / (environments * fragment));
  for (let update = 0; update < updates; update++) {
    const episodes = await rollout.sample(now.weights, update);
    const batch = joinEpisodes(spec, episodes, trainer, update);
    const lr = settings.knobs.lr * (settings.anneal ? 1 - update / updates : 1);
    const knobs = { ...settings.knobs, lr };
    const outcome = await runUpdate(
      stepper,
      batch,
      { ...now, random },
      { knobs: () => knobs, before: async () => await Promise.resolve(true), after: () => undefined },
    );
    if (outcome.kind !== 'updated') throw new Error(`update ${update}: ${JSON.stringify(outcome)}`);
    now = outcome.end;
  }
  await stepper.close();
  await rollout.close();
}

/** The environments with the policy in front of them. */
class Rollout {
  readonly #settings: FragmentSettings;
  readonly #policy: Policy;
  readonly #layout: ActionLayout;
  readonly #arrays: ObservationArrays;
  readonly #lanes: readonly Lane[];
  readonly #random: RandomStream;
  readonly #onEpisode: (episode: FinishedEpisode) => void;
  #steps = 0;
  #episodes: EpisodeSamples[] = [];

  constructor(settings: FragmentSettings, policy: Policy, onEpisode: (episode: FinishedEpisode) => void) {
    const { env, environments, seed } = settings;
    const definition = ENVIRONMENTS[env];
    if (definition === undefined) throw new Error(`there is no environment "${env}"`);
    this.#settings = settings;
    this.#policy = policy;
    this.#layout = actionLayout(settings.policy);
    this.#arrays = createObservationArrays(settings.policy, environments);
    this.#random = createRandom(deriveSeed(seed, 'policy'));
    this.#onEpisode = onEpisode;
    const tasks = createRandom(deriveSeed(seed, 'tasks'));
    this.#lanes = Array.from({ length: environments }, () => new Lane(settings, definition, tasks));
    for (const lane of this.#lanes) lane.begin();
  }

  /** One fragment of every environment, in pieces of episodes. */
  async sample(weights: Float32Array, version: number): Promise<EpisodeSamples[]> {
    const { fragment } = this.#settings;
    this.#policy.load(weights);
    this.#episodes = [];
    for (let step = 0; step < fragment; step++) await this.#step(version);
    const open = this.#lanes.filter((lane) => lane.pending > 0);
    const { values } = await this.#ask(open);
    for (const [row, lane] of open.entries()) this.#episodes.push(lane.cut(values[row] ?? 0));
    return this.#episodes;
  }

  async close(): Promise<void> {
    await this.#policy.close();
  }

  async #ask(lanes: readonly Lane[]): Promise<InferenceResult> {
    if (lanes.length === 0) return { logProbabilities: new Float32Array(0), values: new Float32Array(0) };
    for (const [row, lane] of lanes.entries())
      encodeSight(this.#settings.policy, this.#layout, lane, this.#arrays, row);
    return await this.#policy.run(lanes.length, this.#arrays);
  }

  async #step(version: number): Promise<void> {
    const { logProbabilities, values } = await this.#ask(this.#lanes);
    const observations = this.#arrays;
    const { size } = this.#layout;
    for (const [row, lane] of this.#lanes.entries()) {
      const [from, to] = [row * size, (row + 1) * size];
      const mask = observations.mask?.subarray(from, to) ?? new Float32Array(size);
      const action = chooseAction(logProbabilities.subarray(from, to), mask, 'sampled', this.#random);
      const value = values[row] ?? 0;
      const sample = { row, observations, logProbabilities, action, value, policyVersion: version };
      lane.act(flatAction(this.#layout, lane.observation, action), sample);
    }
    this.#steps += this.#lanes.length;
    await this.#end(this.#lanes.filter((lane) => lane.ended !== null));
  }

  /** Of an episode that ran into the step limit, the value of the last observation is wanted. */
  async #end(ended: readonly Lane[]): Promise<void> {
    const truncated = ended.filter((lane) => lane.ended === 'truncated');
    const { values } = await this.#ask(truncated);
    for (const lane of ended) {
      const { reward, steps, success } = lane;
      const place = truncated.indexOf(lane);
      this.#episodes.push(lane.cut(place < 0 ? null : (values[place] ?? 0)));
      this.#onEpisode({ at: this.#steps, reward, steps, success });
      lane.begin();
    }
  }
}

/** One environment, the episode in it, and the samples since the last cut. */
class Lane {
  readonly #settings: FragmentSettings;
  readonly #definition: EnvironmentDefinition;
  readonly #tasks: RandomStream;
  readonly #environment: Environment;
  readonly #aggregator: Aggregator;
  readonly #samples: SampleBuffer;
  readonly history: (readonly number[])[] = [];
  observation: Observation = { lines: [], legal: [], candidates: [] };
  ended: 'terminated' | 'truncated' | null = null;
  reward = 0;
  steps = 0;
  success = false;
  /** Samples since the last cut. */
  pending = 0;
  #pieces = 0;

  constructor(settings: FragmentSettings, definition: EnvironmentDefinition, tasks: RandomStream) {
    this.#settings = settings;
    this.#definition = definition;
    this.#tasks = tasks;
    this.#environment = definition.create({});
    this.#aggregator = createAggregator(settings.rewards);
    this.#samples = new SampleBuffer(settings.policy, actionLayout(settings.policy));
  }

  /** Begins an episode of a training task drawn at random. */
  begin(): void {
    const { env, families } = this.#definition.catalog;
    const [family] = families;
    if (family === undefined) throw new Error(`${env} has no family`);
    const index = this.#tasks.integer(family.train);
    const task = this.#definition.createTask({ env, family: family.name, split: 'train', index });
    const observation = this.#environment.reset(task, this.#tasks.integer(2 ** 31));
    if (observation instanceof Promise) throw new Error(`${env} answers later`);
    this.#aggregator.reset();
    this.history.length = 0;
    this.ended = null;
    this.reward = 0;
    this.steps = 0;
    this.success = false;
    this.#show(observation);
  }

  act(action: Action, sample: SampleRow): void {
    this.#samples.push(sample);
    this.pending++;
    const result = this.#environment.step(action);
    if (result instanceof Promise) throw new Error(`${this.#settings.env} answers later`);
    this.#take(result);
  }

  /** The samples since the last cut; `finalValue` null when the episode terminated. */
  cut(finalValue: number | null): EpisodeSamples {
    const header = {
      id: episodeId(this.#pieces++),
      steps: this.pending,
      terminated: finalValue === null,
      bootstrapValue: finalValue,
    };
    const samples = readSamples(this.#settings.policy, header, this.#samples.tensors());
    this.#samples.clear();
    this.pending = 0;
    return samples;
  }

  #take({ components, terminated, success, observation }: StepResult): void {
    const { reward } = this.#aggregator.pay(components);
    this.#samples.setReward(reward);
    this.reward += reward;
    this.steps++;
    if (terminated) {
      this.ended = 'terminated';
      this.success = success;
    } else if (this.steps >= this.#settings.maxSteps) this.ended = 'truncated';
    this.#show(observation);
  }

  #show(observation: Observation): void {
    this.observation = observation;
    if (this.history.length >= this.#settings.policy.window) this.history.shift();
    this.history.push(observation.features ?? []);
  }
}
