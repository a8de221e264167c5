import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Environment, EnvironmentDefinition, Eventual, SlotResources } from '../../envs/contract.ts';
import { environmentSeed } from '../domain/episode-seed.ts';
import { errorText } from '../domain/error.ts';
import type { Observation } from '../domain/space.ts';
import { stableJson } from '../domain/stable-json.ts';
import type { ExecutedStep, Execution, ExecutionRequest } from '../protocol/replay.ts';
import { createAggregator } from '../rewards/aggregator.ts';
import { createPenaltyTracker } from '../rewards/penalties.ts';

/** A call to the environment: told to whoever watches that it ends. */
export type Watch = <T>(stage: 'reset' | 'step', call: () => T) => T;

/** What is around the environment. */
export interface Surroundings {
  readonly watch?: Watch;
  readonly resources?: SlotResources;
}

type Stage = 'build' | 'task' | 'reset' | 'step';

/**
 * Does an episode again: builds its environment, sets it up with the episode's task and seed, and takes the recorded actions one
 * after another until they are used up or the environment ends. Pays as the sampler does. Never rejects: what goes wrong
 * with the environment is part of the result.
 */
export async function executeActions(
  definition: EnvironmentDefinition,
  request: ExecutionRequest,
  surroundings: Surroundings = {},
): Promise<Execution> {
  const execution = new Executing(definition, request, surroundings);
  await execution.run();
  return execution.result();
}

class Executing {
  readonly #definition: EnvironmentDefinition;
  readonly #request: ExecutionRequest;
  readonly #watch: Watch;
  readonly #resources: SlotResources | undefined;
  readonly #steps: ExecutedStep[] = [];
  #stage: Stage = 'build';
  #finalLines: string[] | null = null;
  #end: Execution['end'] = null;
  #broken: Execution['broken'] = null;
  #stateHash: string | null = null;

  constructor(definition: EnvironmentDefinition, request: ExecutionRequest, surroundings: Surroundings) {
    this.#definition = definition;
    this.#request = request;
    this.#watch = surroundings.watch ?? ((_stage, call) => call());
    this.#resources = surroundings.resources;
  }

  async run(): Promise<void> {
    let environment: Environment | null = null;
    try {
      environment = this.#definition.create(this.#request.env.options, this.#resources);
      await this.#act(environment);
      this.#stateHash = hashOf(environment.getState());
    } catch (thrown) {
      this.#broken = { stage: this.#stage, reason: errorText(thrown) };
    }
    try {
      await environment?.close();
    } catch {
      // What it did is known already.
    }
  }

  result(): Execution {
    return {
      steps: this.#steps,
      finalLines: this.#finalLines,
      end: this.#end,
      broken: this.#broken,
      stateHash: this.#stateHash,
      envVersion: this.#definition.catalog.version,
    };
  }

  async #act(environment: Environment): Promise<void> {
    const { seed, task: ref, actions, rewards } = this.#request;
    const aggregator = createAggregator(rewards);
    const penalties = createPenaltyTracker();
    this.#stage = 'task';
    const task = this.#definition.createTask(ref);
    this.#stage = 'reset';
    let seen: Observation = await this.#call('reset', () => environment.reset(task, environmentSeed(seed)));
    this.#stage = 'step';
    for (const action of actions) {
      this.#finalLines = [...seen.lines];
      if (this.#end !== null) break;
      const { observation, components, effective, terminated, success, failure } = await this.#call(
        'step',
        () => environment.step(action),
      );
      const { reward, parts } = aggregator.pay(components, penalties.observe(action, effective));
      const { lines, candidates } = seen;
      this.#steps.push({
        lines: [...lines],
        candidates: [...candidates],
        action,
        effective,
        reward,
        parts: [...parts],
      });
      seen = observation;
      if (terminated)
        this.#end = { terminated, success, failure: success ? null : (failure ?? 'wrong_result') };
    }
    this.#finalLines = [...seen.lines];
    this.#end ??= { terminated: false, success: false, failure: null };
  }

  async #call<T>(stage: 'reset' | 'step', call: () => Eventual<T>): Promise<T> {
    const answer = this.#watch(stage, call);
    if (!(answer instanceof Promise)) return answer;
    const { stepTimeoutMs } = this.#request;
    const timer = new AbortController();
    const late = wait(stepTimeoutMs, null, { signal: timer.signal }).then(() => {
      throw new Error(`no answer from the environment within ${stepTimeoutMs} ms`);
    });
    // It is cancelled when the answer comes first.
    late.catch(() => undefined);
    try {
      return await Promise.race([answer, late]);
    } finally {
      timer.abort();
    }
  }
}

/** Null where the state is not plain JSON, or has cycles. */
function hashOf(state: unknown): string | null {
  try {
    return createHash('sha256').update(stableJson(state)).digest('hex');
  } catch {
    return null;
  }
}
