import type { Environment, EnvironmentDefinition, Eventual, StepResult } from '../../envs/contract.ts';
import { createEncodingMemory } from '../../trainer/policy/observation-encoder.ts';
import type { Assignment, EpisodeSummary } from '../domain/episode.ts';
import { errorText } from '../domain/error.ts';
import { type FailureType, failureTrust } from '../domain/failure.ts';
import { episodeSequence } from '../domain/id.ts';
import type { ActionLayout } from '../domain/policy-spec.ts';
import { createRandom, deriveSeed, type RandomStream } from '../domain/random.ts';
import type { Observation } from '../domain/space.ts';
import type { Task } from '../domain/task.ts';
import type { Attachments } from '../protocol/frame.ts';
import type { Lifeline, WatchedStage } from '../protocol/lifeline.ts';
import type { WorkerSettings } from '../protocol/worker.ts';
import { type Aggregator, createAggregator } from '../rewards/aggregator.ts';
import { type BehaviourTracker, createBehaviourTracker } from '../rewards/behaviours.ts';
import { createPenaltyTracker, type PenaltyTracker } from '../rewards/penalties.ts';
import { checkObservation, checkStepResult, checkTask } from './answer-check.ts';
import { type Decision, EpisodeRecorder } from './episode-recorder.ts';
import { EpisodeTally } from './episode-tally.ts';
import { SampleBuffer, type SampleRow } from './sample-buffer.ts';

/**
 * `free`: no episode · `ready`: an observation waits for the policy · `busy`: the environment works on a step or reset ·
 * `closing`: truncated, and the value of the last observation is wanted for bootstrapping.
 */
export type SlotState = 'free' | 'ready' | 'busy' | 'closing';

export interface FinishedEpisode {
  readonly summary: EpisodeSummary;
  readonly body: Uint8Array;
  /** Null for episodes that are not trained on. */
  readonly tensors: Attachments | null;
  readonly bootstrapValue: number | null;
}

/** What slots of one worker share. */
export interface SlotContext {
  readonly settings: WorkerSettings;
  readonly definition: EnvironmentDefinition;
  readonly layout: ActionLayout;
  readonly lifeline: Lifeline;
  /** What an environment that answers at once takes for a step, ms: the mean of the newest slice. */
  readonly pace: { stepMs: number };
  readonly onFinished: (slot: Slot, episode: FinishedEpisode) => void;
  /** The slot waits for the policy: it is `ready` or `closing`. */
  readonly onReady: (slot: Slot) => void;
}

interface Ending {
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly success: boolean;
  readonly failure: FailureType | null;
  readonly detail: string | null;
}

/** Characters of an environment's own words that are kept. */
const MAX_DETAIL = 500;

const NO_TAGS: readonly string[] = [];

/** One live environment and the episode in it. */
export class Slot {
  readonly #context: SlotContext;
  readonly #index: number;
  readonly #aggregator: Aggregator;
  readonly #penalties: PenaltyTracker = createPenaltyTracker();
  readonly #behaviours: BehaviourTracker;
  readonly #recorder = new EpisodeRecorder();
  readonly #samples: SampleBuffer;
  readonly #tally = new EpisodeTally();
  /** The encoder's. */
  readonly memory = createEncodingMemory();
  #env: Environment;
  #state: SlotState = 'free';
  #assignment: Assignment | null = null;
  /** Number of the episode, for the lifeline. */
  #subject = 0;
  #task: Task | null = null;
  #observation: Observation | null = null;
  /** Numeric features of the newest observations, as many as the policy looks back at, the newest last. */
  #history: (readonly number[])[] = [];
  #random: RandomStream = createRandom(0);
  #ending: Ending | null = null;
  #startedAt = 0;
  /** ms for which the episode was held: they count neither as its length nor against its time limit. */
  #stoodStillMs = 0;
  #busySince = 0;
  #firstPolicyVersion = 0;
  #policyVersion = 0;
  /** Counts episodes of this slot, so that a late answer of an abandoned one is recognised. */
  #generation = 0;

  constructor(context: SlotContext, index: number) {
    this.#context = context;
    this.#index = index;
    this.#aggregator = createAggregator(context.settings.rewards);
    this.#behaviours = createBehaviourTracker(context.settings.rewards);
    this.#samples = new SampleBuffer(context.settings.policy, context.layout, context.settings.maxSteps);
    this.#env = context.definition.create(context.settings.env.options);
  }

  get state(): SlotState {
    return this.#state;
  }

  /** The observation that waits for the policy; only while `ready` or `closing`. */
  get observation(): Observation {
    if (this.#observation === null) throw new Error(`slot ${this.#index} has no observation`);
    return this.#observation;
  }

  /** Numeric features of this episode's newest observations, oldest first. */
  get history(): readonly (readonly number[])[] {
    return this.#history;
  }

  get mode(): Assignment['mode'] {
    return this.#assignment?.mode ?? 'sampled';
  }

  /** The stream for this episode's action sampling. */
  get random(): RandomStream {
    return this.#random;
  }

  /** Begins an episode. */
  begin(assignment: Assignment): void {
    this.#assignment = assignment;
    this.#subject = episodeSequence(assignment.id);
    this.#generation++;
    this.#startedAt = Date.now();
    this.#stoodStillMs = 0;
    this.#firstPolicyVersion = 0;
    this.#policyVersion = 0;
    this.#recorder.clear();
    this.#tally.begin();
    this.#samples.clear();
    this.#aggregator.reset();
    this.#penalties.reset();
    this.#behaviours.reset();
    this.#ending = null;
    this.#observation = null;
    this.#history = [];
    this.#random = createRandom(deriveSeed(assignment.seed, 'policy'));
    this.#guard('reset', () => {
      const task = this.#context.definition.createTask(assignment.task);
      checkTask(task);
      this.#task = task;
      const reset = this.#env.reset(this.#task, deriveSeed(assignment.seed, 'environment'));
      this.#await(reset, (observation) => {
        this.#tally.endReset();
        this.#observe(observation);
      });
    });
  }

  /** Takes the action that the policy decided on. */
  act(decision: Decision, row: SampleRow): void {
    const observation = this.observation;
    if (this.#recorder.length === 0) this.#firstPolicyVersion = decision.policyVersion;
    this.#policyVersion = decision.policyVersion;
    // The row's views are overwritten by the next batch: keep it before waiting for anything.
    if (this.#assignment?.phase === 'train') this.#samples.push(row);
    const { lifeline } = this.#context;
    lifeline.begin(this.#subject, 'step');
    try {
      const answer = this.#env.step(decision.action);
      if (answer instanceof Promise)
        void this.#awaitLater(answer, (result) => {
          this.#tally.stepMs += Date.now() - this.#busySince;
          this.#afterStep(observation, decision, result);
        });
      else {
        this.#tally.stepMs += this.#context.pace.stepMs;
        this.#afterStep(observation, decision, answer);
      }
    } catch (thrown) {
      this.fail('env_crash', errorText(thrown));
    } finally {
      lifeline.end();
    }
  }

  /** Gives the value of the last observation to an episode that was truncated. */
  bootstrap(value: number): void {
    this.#finish(value);
  }

  /** Ends the episode for a reason that the policy did not cause, and rebuilds the environment. */
  fail(failure: FailureType, detail: string): void {
    const text = detail.slice(0, MAX_DETAIL);
    this.#ending = { terminated: false, truncated: false, success: false, failure, detail: text };
    this.#rebuild();
    this.#finish(null);
  }

  /** Fails the episode if its environment has worked on one answer for too long. */
  checkDeadline(now: number): void {
    const { stepTimeoutMs } = this.#context.settings;
    if (this.#state !== 'busy' || now - this.#busySince < stepTimeoutMs) return;
    this.fail('env_timeout', `no answer from the environment within ${stepTimeoutMs} ms`);
  }

  /** The worker was held for so long; an episode that is under way has stood still. */
  stoodStill(ms: number): void {
    if (this.#state !== 'free') this.#stoodStillMs += ms;
  }

  async close(): Promise<void> {
    this.#generation++;
    await this.#env.close();
  }

  #guard(stage: WatchedStage, work: () => void): void {
    const { lifeline } = this.#context;
    lifeline.begin(this.#subject, stage);
    try {
      work();
    } catch (thrown) {
      this.fail('env_crash', errorText(thrown));
    } finally {
      lifeline.end();
    }
  }

  #await<T>(answer: Eventual<T>, then: (value: T) => void): void {
    if (answer instanceof Promise) void this.#awaitLater(answer, then);
    else then(answer);
  }

  async #awaitLater<T>(answer: Promise<T>, then: (value: T) => void): Promise<void> {
    this.#state = 'busy';
    this.#busySince = Date.now();
    const generation = this.#generation;
    try {
      const value = await answer;
      // Abandoned meanwhile: the slot has another environment by now.
      if (generation !== this.#generation) return;
      this.#guard('step', () => then(value));
    } catch (thrown) {
      if (generation !== this.#generation) return;
      this.fail('env_crash', errorText(thrown));
    }
  }

  #observe(observation: Observation): void {
    checkObservation(observation);
    this.#show(observation);
    this.#context.onReady(this);
  }

  #show(observation: Observation): void {
    this.#observation = observation;
    this.#remember(observation.features);
    this.#state = 'ready';
  }

  #remember(features: readonly number[] | undefined): void {
    const { policy } = this.#context.settings;
    if (policy.kind !== 'features') return;
    if (this.#history.length >= policy.window) this.#history.shift();
    this.#history.push(features ?? []);
  }

  #afterStep(before: Observation, decision: Decision, result: StepResult): void {
    checkStepResult(result);
    const penalties = this.#penalties.observe(decision.action, result.effective);
    const payment = this.#aggregator.pay(result.components, penalties);
    const { action } = decision;
    this.#behaviours.observe({ action, effective: result.effective, parts: payment.parts }, penalties);
    this.#recorder.push(before, decision, result.effective, payment);
    if (result.tool !== undefined) this.#tally.tool(result.tool);
    if (this.#assignment?.phase === 'train') this.#samples.setReward(payment.reward);
    this.#show(result.observation);
    this.#ending = this.#endingAfter(result);
    const isTraining = this.#assignment?.phase === 'train';
    if (this.#ending !== null && !(this.#ending.truncated && isTraining)) {
      this.#finish(null);
      return;
    }
    // Truncation bootstraps V(s_T), which takes one more look at the last observation.
    if (this.#ending !== null) this.#state = 'closing';
    this.#context.onReady(this);
  }

  #endingAfter(result: StepResult): Ending | null {
    const { settings } = this.#context;
    if (result.terminated) {
      const failure = result.success ? null : (result.failure ?? 'wrong_result');
      return { terminated: true, truncated: false, success: result.success, failure, detail: null };
    }
    const truncated = { terminated: false, truncated: true, success: false } as const;
    if (this.#recorder.length >= settings.maxSteps) {
      if (this.#hasLasted()) return { ...truncated, success: true, failure: null, detail: null };
      return { ...truncated, failure: 'max_steps', detail: `limit of ${settings.maxSteps} steps` };
    }
    if (this.#wallMs() >= settings.episodeTimeoutMs) {
      return { ...truncated, failure: 'wall_clock', detail: `limit of ${settings.episodeTimeoutMs} ms` };
    }
    return null;
  }

  #hasLasted(): boolean {
    const { lasting, maxSteps } = this.#context.definition.catalog;
    return lasting === true && this.#recorder.length >= maxSteps;
  }

  #wallMs(): number {
    return Math.max(0, Date.now() - this.#startedAt - this.#stoodStillMs);
  }

  #rebuild(): void {
    const { definition, settings } = this.#context;
    this.#generation++;
    const broken = this.#env;
    this.#env = definition.create(settings.env.options);
    // Whatever the broken one says while closing is of no more interest.
    void closeQuietly(broken);
  }

  #finish(bootstrapValue: number | null): void {
    const assignment = this.#assignment;
    const ending = this.#ending;
    if (assignment === null || ending === null) return;
    const { settings } = this.#context;
    const steps = this.#recorder.length;
    const trust = failureTrust(ending.failure);
    const components = this.#aggregator.totals();
    const wallMs = this.#wallMs();
    const trainable = trust === 'valid' && assignment.phase === 'train' && steps > 0;
    // Field by field: spreading the assignment makes a slow object of 10 kB.
    const summary: EpisodeSummary = {
      id: assignment.id,
      task: assignment.task,
      seed: assignment.seed,
      phase: assignment.phase,
      mode: assignment.mode,
      iteration: assignment.iteration,
      attempt: assignment.attempt,
      taskSeed: this.#task?.seed ?? 0,
      difficulty: this.#task?.difficulty ?? 0,
      host: settings.host,
      worker: settings.worker,
      slot: this.#index,
      firstPolicyVersion: this.#firstPolicyVersion,
      policyVersion: this.#policyVersion,
      steps,
      startedAt: this.#startedAt,
      wallMs,
      terminated: ending.terminated,
      truncated: ending.truncated,
      success: ending.success,
      failure: ending.failure,
      failureDetail: ending.detail,
      trust,
      reward: trust === 'void' ? null : Object.values(components).reduce((sum, paid) => sum + paid, 0),
      components,
      behaviours: this.#behaviours.find(ending.success),
      tags: this.#task?.tags ?? NO_TAGS,
      tools: this.#tally.tools(),
      stages: this.#tally.stages(wallMs),
    };
    const body = this.#recorder.encode(this.#observation);
    const tensors = trainable ? this.#samples.tensors() : null;
    this.#state = 'free';
    this.#assignment = null;
    this.#task = null;
    this.#observation = null;
    this.#context.onFinished(this, { summary, body, tensors, bootstrapValue });
  }
}

/** Whatever a broken environment says while it is closed is of no more interest. */
async function closeQuietly(environment: Environment): Promise<void> {
  try {
    await environment.close();
  } catch {
    // It is given up already.
  }
}
