import { setTimeout as wait } from 'node:timers/promises';
import type {
  Environment,
  EnvironmentDefinition,
  Eventual,
  SlotResources,
  StepResult,
} from '../../envs/contract.ts';
import { stateHash } from '../../envs/state-hash.ts';
import { environmentSeed } from '../domain/episode-seed.ts';
import { errorText } from '../domain/error.ts';
import type { Action, Observation } from '../domain/space.ts';
import type { ExecutedDecision, ExecutedStep, Execution, ExecutionRequest } from '../protocol/replay.ts';
import { type Aggregator, createAggregator } from '../rewards/aggregator.ts';
import { TeamPenalties } from '../rewards/team-penalties.ts';
import { checkAgent, checkPaid } from '../sampling/answer-check.ts';
import { endingAfter } from '../sampling/episode-ending.ts';
import { RecordedTools } from './recorded-tools.ts';

/** A call to the environment: told to whoever watches that it ends. */
export type Watch = <T>(stage: 'reset' | 'step', call: () => T) => T;

/** What is chosen in a step. */
export interface Choice {
  readonly action: Action;
  readonly decision?: ExecutedDecision | undefined;
}

/** Acts when the recorded actions are used up. */
export interface Actor {
  /** Told of every observation of the episode, in order, whoever acts on it. */
  see(observation: Observation): void;
  /** `index`: of the step, from 0. */
  decide(observation: Observation, index: number): Promise<Choice>;
}

/** What is around the environment. */
export interface Surroundings {
  readonly watch?: Watch;
  readonly resources?: SlotResources;
  /** For a request with `acting`. */
  readonly actor?: Actor | undefined;
}

type Stage = 'build' | 'task' | 'reset' | 'step';

/**
 * Does an episode again: builds its environment, sets it up with the episode's task and seed, and takes the recorded actions one
 * after another until they are used up or the environment ends; then lets `actor` go on, if there is one, up to the limits of
 * the request. Tools get their answers from the record. Pays as the sampler does. Never rejects: what goes wrong with the
 * environment is part of the result.
 */
export async function executeEpisode(
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
  readonly #actor: Actor | undefined;
  readonly #tools: RecordedTools;
  readonly #aggregator: Aggregator;
  readonly #penalties = new TeamPenalties();
  /** Null where the episode has one agent. */
  readonly #agents: ReadonlySet<string> | null;
  readonly #steps: ExecutedStep[] = [];
  readonly #startedAt = Date.now();
  #stage: Stage = 'build';
  #finalLines: string[] | null = null;
  #finalAgent: string | undefined;
  #end: Execution['end'] = null;
  #broken: Execution['broken'] = null;

  constructor(definition: EnvironmentDefinition, request: ExecutionRequest, surroundings: Surroundings) {
    this.#definition = definition;
    this.#request = request;
    this.#watch = surroundings.watch ?? ((_stage, call) => call());
    this.#resources = surroundings.resources;
    this.#actor = surroundings.actor;
    this.#tools = new RecordedTools(request, definition.tools ?? {});
    this.#aggregator = createAggregator(request.rewards);
    const { agents } = definition.catalog;
    this.#agents = agents === undefined ? null : new Set(agents);
  }

  async run(): Promise<void> {
    let environment: Environment | null = null;
    try {
      environment = this.#definition.create(this.#request.env.options, this.#surround());
      await this.#act(environment);
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
      ...(this.#finalAgent === undefined ? {} : { finalAgent: this.#finalAgent }),
      end: this.#end,
      broken: this.#broken,
      calls: [...this.#tools.made],
      envVersion: this.#definition.catalog.version,
    };
  }

  #surround(): SlotResources | undefined {
    const resources = this.#resources;
    if (this.#definition.tools === undefined) return resources;
    return {
      tempDirectory: () => {
        if (resources === undefined) throw new Error('there are no temporary directories here');
        return resources.tempDirectory();
      },
      toolSource: this.#tools,
    };
  }

  async #act(environment: Environment): Promise<void> {
    const { seed, task: ref } = this.#request;
    this.#stage = 'task';
    const task = this.#definition.createTask(ref);
    this.#stage = 'reset';
    let { value: seen } = await this.#call('reset', () => environment.reset(task, environmentSeed(seed)));
    this.#stage = 'step';
    for (let index = 0; ; index++) {
      this.#finalLines = [...seen.lines];
      this.#finalAgent = this.#agentOf(seen);
      const choice = this.#end === null ? await this.#choose(seen, index) : null;
      if (choice === null) break;
      this.#tools.step = index + 1;
      const answer = await this.#call('step', () => environment.step(choice.action));
      this.#keep(seen, choice, answer, stateHash(environment));
      seen = answer.value.observation;
      this.#endAfter(answer.value, index + 1);
    }
    this.#end ??= { terminated: false, success: false, failure: null };
  }

  /** Null when nobody acts any more. */
  async #choose(seen: Observation, index: number): Promise<Choice | null> {
    this.#actor?.see(seen);
    const action = this.#request.actions[index];
    if (action !== undefined) return { action };
    return this.#actor === undefined ? null : await this.#actor.decide(seen, index);
  }

  /** Who sees it; undefined in an episode of one agent. Throws `environment-invalid` where it is to say so, and does not. */
  #agentOf(seen: Observation): string | undefined {
    if (this.#agents === null) return undefined;
    checkAgent(seen, this.#agents);
    return seen.agent;
  }

  #keep(
    seen: Observation,
    { action, decision }: Choice,
    { value, ms }: Answer<StepResult>,
    state: string | undefined,
  ): void {
    const { lines, candidates } = seen;
    const { components, effective, tool } = value;
    const agent = this.#agentOf(seen);
    const paid = this.#agents === null ? undefined : value.paid;
    if (this.#agents !== null) checkPaid(paid, this.#agents);
    const penalties = this.#penalties.of(agent).observe(action, effective);
    const { reward, parts } = this.#aggregator.pay(components, penalties, paid);
    this.#steps.push({
      lines: [...lines],
      candidates: [...candidates],
      action,
      effective,
      reward,
      parts: [...parts],
      ...(tool === undefined ? {} : { tool }),
      ...(ms === undefined ? {} : { ms }),
      ...(state === undefined ? {} : { state }),
      ...(decision === undefined ? {} : { decision }),
      ...(agent === undefined ? {} : { agent }),
    });
  }

  /** The limits are for the actor: recorded actions are taken as far as they go. */
  #endAfter(result: StepResult, steps: number): void {
    const { acting, actions } = this.#request;
    const limits =
      acting === null || steps < actions.length
        ? { maxSteps: Number.POSITIVE_INFINITY, episodeTimeoutMs: Number.POSITIVE_INFINITY }
        : acting;
    const wallMs = Date.now() - this.#startedAt;
    const ending = endingAfter(result, { steps, wallMs }, limits, this.#definition.catalog);
    if (ending === null) return;
    const { terminated, success, failure } = ending;
    this.#end = { terminated, success, failure };
  }

  async #call<T>(stage: 'reset' | 'step', call: () => Eventual<T>): Promise<Answer<T>> {
    const answer = this.#watch(stage, call);
    if (!(answer instanceof Promise)) return { value: answer };
    const { stepTimeoutMs } = this.#request;
    const started = Date.now();
    const timer = new AbortController();
    const late = wait(stepTimeoutMs, null, { signal: timer.signal }).then(() => {
      throw new Error(`no answer from the environment within ${stepTimeoutMs} ms`);
    });
    // It is cancelled when the answer comes first.
    late.catch(() => undefined);
    try {
      const value = await Promise.race([answer, late]);
      return { value, ms: Math.max(0, Date.now() - started) };
    } finally {
      timer.abort();
    }
  }
}

interface Answer<T> {
  readonly value: T;
  /** Of one that came later. */
  readonly ms?: number;
}
