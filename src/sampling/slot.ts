import type { Environment, Eventual, StepResult } from '../../envs/contract.ts';
import { stateHash } from '../../envs/state-hash.ts';
import type { EncodingMemory } from '../../trainer/policy/observation-encoder.ts';
import type { Assignment, EpisodeSummary } from '../domain/episode.ts';
import { environmentSeed, policySeed } from '../domain/episode-seed.ts';
import { errorText } from '../domain/error.ts';
import { type FailureStage, type FailureType, failureTrust } from '../domain/failure.ts';
import { episodeSequence } from '../domain/id.ts';
import { createRandom, type RandomStream } from '../domain/random.ts';
import type { Observation } from '../domain/space.ts';
import type { Task } from '../domain/task.ts';
import type { WatchedStage } from '../protocol/lifeline.ts';
import { type Aggregator, createAggregator } from '../rewards/aggregator.ts';
import { type BehaviourTracker, createBehaviourTracker } from '../rewards/behaviours.ts';
import { TeamPenalties } from '../rewards/team-penalties.ts';
import { checkObservation, checkStepResult, checkTask } from './answer-check.ts';
import { CallRecorder } from './call-recorder.ts';
import { discard } from './discard.ts';
import { type Ending, endingAfter, TRUNCATED, VOID } from './episode-ending.ts';
import { type Decision, EpisodeRecorder } from './episode-recorder.ts';
import { EpisodeTally } from './episode-tally.ts';
import { SampleBuffer, type SampleRow } from './sample-buffer.ts';
import type { SlotAgents } from './slot-agents.ts';
import type { SlotContext, WaitedStage } from './slot-context.ts';
import { createAgents } from './team.ts';
import type { SlotDirectory } from './temp-directories.ts';

/**
 * `free`: no episode · `ready`: an observation waits for the policy · `busy`: the environment works on a step or reset ·
 * `closing`: truncated, and the value of the last observation is wanted for bootstrapping.
 */
export type SlotState = 'free' | 'ready' | 'busy' | 'closing';

/** Characters of an environment's own words that are kept. */
const MAX_DETAIL = 500;

const NO_TAGS: readonly string[] = [];

/** One live environment and the episode in it. */
export class Slot {
  readonly #context: SlotContext;
  readonly #index: number;
  readonly #aggregator: Aggregator;
  readonly #penalties = new TeamPenalties();
  readonly #behaviours: BehaviourTracker;
  readonly #recorder = new EpisodeRecorder();
  readonly #samples: SampleBuffer;
  readonly #tally = new EpisodeTally();
  readonly #agents: SlotAgents;
  #env: Environment;
  /** It has failed, and is closed: the next episode builds another. */
  #isBroken = false;
  /** The lifeline watches over something of this slot's. */
  #isWatched = false;
  #directory: SlotDirectory | undefined;
  /** Where its tools call out. */
  #calls: CallRecorder | undefined;
  #resetCalls: string | undefined;
  /** Whether the environment was reset before this episode, and at all. */
  #recycled = false;
  #used = false;
  #state: SlotState = 'free';
  #assignment: Assignment | null = null;
  /** Number of the episode, for the lifeline. */
  #subject = 0;
  #task: Task | null = null;
  #random: RandomStream = createRandom(0);
  #ending: Ending | null = null;
  #startedAt = 0;
  /** ms for which the episode was held: they count neither as its length nor against its time limit. */
  #stoodStillMs = 0;
  #busySince = 0;
  #busyStage: WaitedStage = 'reset';
  /** Whether the record of this episode holds a hash of the state after each step. */
  #hashesStates = false;
  #firstPolicyVersion = 0;
  #policyVersion = 0;
  /** Counts episodes of this slot, so that a late answer of an abandoned one is recognised. */
  #generation = 0;

  constructor(context: SlotContext, index: number) {
    this.#context = context;
    this.#index = index;
    this.#aggregator = createAggregator(context.settings.rewards);
    this.#behaviours = createBehaviourTracker(context.settings.rewards);
    this.#samples = new SampleBuffer(context.settings.policy, context.layout);
    this.#agents = createAgents(index, context.definition.catalog.agents, context.settings.policy);
    this.#env = this.#build();
  }

  get index(): number {
    return this.#index;
  }

  /** What its environment is waited for, and since when (ms since the epoch); null when it is not. */
  get waiting(): { readonly stage: WaitedStage; readonly since: number } | null {
    return this.#state === 'busy' ? { stage: this.#busyStage, since: this.#busySince } : null;
  }

  /** The episode in it, and since when; null when there is none. */
  get episode(): {
    readonly id: Assignment['id'];
    readonly startedAt: number;
    readonly steps: number;
  } | null {
    if (this.#assignment === null) return null;
    return { id: this.#assignment.id, startedAt: this.#startedAt, steps: this.#recorder.length };
  }

  get state(): SlotState {
    return this.#state;
  }

  /** The observation that waits for the policy; only while `ready` or `closing`. */
  get observation(): Observation {
    const { sight } = this.#agents;
    if (sight === null) throw new Error(`slot ${this.#index} has no observation`);
    return sight;
  }

  /** The same as in `SlotAgents`. */
  get history(): readonly (readonly number[])[] {
    return this.#agents.history;
  }

  get memory(): EncodingMemory {
    return this.#agents.memory;
  }

  get reader(): number {
    return this.#agents.reader;
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
    const states = this.#context.settings.record?.states ?? 'none';
    this.#hashesStates = states === 'all' || (states === 'eval' && assignment.phase === 'eval');
    this.#firstPolicyVersion = 0;
    this.#policyVersion = 0;
    this.#recorder.clear();
    this.#tally.begin();
    this.#aggregator.reset();
    this.#penalties.reset();
    this.#behaviours.reset();
    this.#ending = null;
    this.#agents.clear();
    this.#random = createRandom(policySeed(assignment.seed));
    this.#resetCalls = undefined;
    this.#endUntrusted(assignment.task.family);
    if (this.#isBroken && !this.#guard('build', () => this.#renew())) return;
    this.#recycled = this.#used;
    this.#used = true;
    this.#calls?.begin();
    this.#guard('reset', () => {
      const task = this.#context.definition.createTask(assignment.task);
      checkTask(task);
      this.#task = task;
      const reset = this.#env.reset(this.#task, environmentSeed(assignment.seed));
      this.#awaitReset(reset);
    });
  }

  /** Takes the action that the policy decided on. */
  act(decision: Decision, row: SampleRow): void {
    const observation = this.observation;
    if (this.#recorder.length === 0) this.#firstPolicyVersion = decision.policyVersion;
    this.#policyVersion = decision.policyVersion;
    // The row's views are overwritten by the next batch: keep it before waiting for anything.
    if (this.#assignment?.phase === 'train') this.#samples.push(row);
    this.#agents.act();
    const { lifeline } = this.#context;
    // Not by #watch: there is a step every few microseconds.
    lifeline.begin(this.#subject, 'step', this.#index);
    this.#isWatched = true;
    try {
      const answer = this.#env.step(decision.action);
      if (answer instanceof Promise)
        this.#awaitLater('step', answer, (result) => {
          const ms = Math.max(0, Date.now() - this.#busySince);
          this.#tally.stepMs += ms;
          this.#afterStep(observation, decision, result, ms);
        });
      else {
        this.#tally.stepMs += this.#context.stepPace.ms;
        this.#afterStep(observation, decision, answer);
      }
    } catch (thrown) {
      this.fail('env_crash', errorText(thrown), 'step');
    } finally {
      this.#isWatched = false;
      lifeline.end();
    }
  }

  /** Gives the value of the last observation, of one agent, to an episode that was truncated. */
  bootstrap(value: number): void {
    if (this.#agents.bootstrap(value)) this.#context.onReady(this);
    else this.#finish(value);
  }

  /**
   * Ends the episode for a reason that the policy did not cause, and gives up the environment. `stage`: what that was at; left
   * out, it gave an observation that cannot be used.
   */
  fail(failure: FailureType, detail: string, stage: FailureStage | null = this.#newestStage()): void {
    const text = detail.slice(0, MAX_DETAIL);
    this.#ending = { ...VOID, failure, detail: text, stage };
    this.#giveUp();
    this.#finish(null);
  }

  /**
   * Ends the episode if its environment has worked on one answer for too long, or if the episode's time is up meanwhile. `now`
   * is ms since the epoch, `heldMs` how long the worker has been held until now.
   */
  checkDeadline(now: number, heldMs: number): void {
    if (this.#state !== 'busy') return;
    const { stepTimeoutMs, episodeTimeoutMs } = this.#context.settings;
    const isStepOver = now - this.#busySince >= stepTimeoutMs;
    if (!isStepOver && this.#wallMs(now) - heldMs < episodeTimeoutMs) return;
    if (!isStepOver) return this.#timeIsUp();
    const detail = `no answer from the environment within ${stepTimeoutMs} ms`;
    this.fail('env_timeout', detail, this.#busyStage);
  }

  /**
   * Gives up the environment: it uses too much. Fails the episode, if there is one. Returns whether there was an environment
   * and no episode that tells of it.
   */
  evict(detail: string): boolean {
    if (this.#isBroken) return false;
    const isUntold = this.#assignment === null;
    this.fail('sandbox_error', detail, null);
    return isUntold;
  }

  /** The worker was held for so long; an episode that is under way has stood still. */
  stoodStill(ms: number): void {
    if (this.#state !== 'free') this.#stoodStillMs += ms;
  }

  /** The whole process stood still for so long, the environment's answers with it. */
  excuse(ms: number): void {
    this.stoodStill(ms);
    // Work that began within the standstill cannot have begun later than now: its time would be negative, and no report valid.
    this.#busySince = Math.min(Date.now(), this.#busySince + ms);
  }

  async close(): Promise<void> {
    this.#generation++;
    await discard(this.#isBroken ? null : this.#env, this.#directory);
  }

  /** Returns whether the work came to its end. */
  #guard(stage: WatchedStage, work: () => void): boolean {
    return this.#watch(stage, () => {
      try {
        work();
        return true;
      } catch (thrown) {
        this.fail('env_crash', errorText(thrown), stage);
        return false;
      }
    });
  }

  /** Does what calls the environment under the lifeline, which watches over one thing at a time: a call within one is part of it. */
  #watch<T>(stage: WatchedStage, work: () => T): T {
    if (this.#isWatched) return work();
    const { lifeline } = this.#context;
    lifeline.begin(this.#subject, stage, this.#index);
    this.#isWatched = true;
    try {
      return work();
    } finally {
      this.#isWatched = false;
      lifeline.end();
    }
  }

  /** The stage that gave the newest observation. */
  #newestStage(): FailureStage {
    return this.#recorder.length === 0 ? 'reset' : 'step';
  }

  #awaitReset(answer: Eventual<Observation>): void {
    if (answer instanceof Promise) {
      this.#awaitLater('reset', answer, (observation) => this.#observe(observation));
      return;
    }
    // Once an episode; no step is timed.
    this.#context.onAnswer?.('reset', Date.now() - this.#startedAt);
    this.#observe(answer);
  }

  /**
   * Goes on with `then` when the environment has answered. Not an async function: what waits is held for as long as a tool
   * takes, by thousands of slots, and is copied by every collection of garbage meanwhile.
   */
  #awaitLater<T>(stage: WaitedStage, answer: Promise<T>, then: (value: T) => void): void {
    this.#state = 'busy';
    this.#busySince = Date.now();
    this.#busyStage = stage;
    const generation = this.#generation;
    // Where the numbers differ it was abandoned meanwhile: the slot has another environment by now.
    answer.then(
      (value) => generation === this.#generation && this.#answered(stage, () => then(value)),
      (thrown: unknown) =>
        generation === this.#generation && this.fail('env_crash', errorText(thrown), stage),
    );
  }

  #answered(stage: WaitedStage, goOn: () => void): boolean {
    this.#context.onAnswer?.(stage, Date.now() - this.#busySince);
    return this.#guard(stage, goOn);
  }

  /** The episode's limit fires while a step is under way: it ends where it stands, and the environment with it. */
  #timeIsUp(): void {
    const { episodeTimeoutMs } = this.#context.settings;
    const detail = `limit of ${episodeTimeoutMs} ms`;
    // The policy has no part in a reset.
    if (this.#busyStage === 'reset')
      return this.fail('env_timeout', `no reset within the ${detail}`, 'reset');
    this.#ending = { ...TRUNCATED, failure: 'wall_clock', detail };
    this.#giveUp();
    if (this.#assignment?.phase !== 'train' || this.#recorder.length === 0) return this.#finish(null);
    this.#close(null);
  }

  /** Truncation bootstraps V(s_T), which takes one more look at the last observation. `env`: absent, it cannot be asked. */
  #close(env: Environment | null): void {
    this.#agents.close(env);
    this.#state = 'closing';
    this.#context.onReady(this);
  }

  /** Where slots are not reused, or a family was seen to leak, each episode gets a new environment. */
  #endUntrusted(family: string): void {
    const { settings, audit } = this.#context;
    if (!this.#used || (settings.reuseSlots !== false && audit?.isQuarantined(family) !== true)) return;
    this.#giveUp();
  }

  #observe(observation: Observation): void {
    this.#tally.endReset();
    this.#resetCalls = this.#calls?.take();
    checkObservation(observation);
    this.#agents.check(observation);
    if (this.#recycled && this.#assignment !== null) {
      const [assignment, slot, environment] = [this.#assignment, this.#index, this.#env];
      this.#context.audit?.observe({ assignment, slot, environment, observation });
    }
    this.#show(observation);
    this.#context.onReady(this);
  }

  #show(observation: Observation): void {
    this.#agents.show(observation);
    this.#state = 'ready';
  }

  #afterStep(before: Observation, decision: Decision, result: StepResult, ms?: number): void {
    checkStepResult(result, before);
    this.#agents.checkStep(result);
    const agent = this.#agents.nameOf(before);
    const { action } = decision;
    const penalties = this.#penalties.of(agent).observe(action, result.effective);
    const payment = this.#aggregator.pay(result.components, penalties, this.#agents.othersOf(result));
    this.#behaviours.observe({ action, effective: result.effective, parts: payment.parts, agent }, penalties);
    const { effective, tool } = result;
    const state = this.#hashesStates ? stateHash(this.#env) : undefined;
    this.#recorder.push(
      before,
      decision,
      { effective, tool, ms, state, calls: this.#calls?.take(), agent },
      payment,
    );
    if (result.tool !== undefined) this.#tally.tool(result.tool);
    this.#agents.pay(payment, this.#assignment?.phase === 'train' ? this.#samples : null);
    this.#show(result.observation);
    const { settings, definition } = this.#context;
    const length = { steps: this.#recorder.length, wallMs: this.#wallMs() };
    this.#ending = endingAfter(result, length, settings, definition.catalog);
    const isTraining = this.#assignment?.phase === 'train';
    if (this.#ending !== null && !(this.#ending.truncated && isTraining)) {
      this.#finish(null);
      return;
    }
    if (this.#ending === null) this.#context.onReady(this);
    else this.#close(this.#env);
  }

  #wallMs(now = Date.now()): number {
    return Math.max(0, now - this.#startedAt - this.#stoodStillMs);
  }

  #build(): Environment {
    const { definition, directories, settings } = this.#context;
    const directory = directories?.open(this.#index);
    this.#directory = directory;
    if (definition.tools === undefined) return definition.create(settings.env.options, directory);
    const calls = new CallRecorder();
    this.#calls = calls;
    return definition.create(settings.env.options, calls.resources(directory));
  }

  #renew(): void {
    this.#env = this.#build();
    this.#isBroken = false;
  }

  /** Closes the environment; the next episode builds another. */
  #giveUp(): void {
    this.#generation++;
    this.#used = false;
    const [environment, directory] = [this.#isBroken ? null : this.#env, this.#directory];
    this.#watch('close', () => void discard(environment, directory));
    this.#directory = undefined;
    this.#isBroken = true;
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
      failureStage: ending.stage,
      trust,
      reward: trust === 'void' ? null : Object.values(components).reduce((sum, paid) => sum + paid, 0),
      components,
      behaviours: this.#behaviours.find(ending.success),
      tags: this.#task?.tags ?? NO_TAGS,
      tools: this.#tally.tools(),
      stages: this.#tally.stages(wallMs),
      agentRewards: this.#agents.rewards(),
    };
    const { newest } = this.#agents;
    const finalAgent = newest === null ? undefined : this.#agents.nameOf(newest);
    const body = this.#recorder.encode(newest, this.#resetCalls, finalAgent);
    const tensors = trainable ? this.#agents.tensors(this.#samples, steps) : null;
    const agentValues = trainable ? this.#agents.lastValues() : undefined;
    this.#samples.clear();
    this.#state = 'free';
    this.#assignment = null;
    this.#task = null;
    this.#agents.clear();
    const recycled = this.#recycled;
    this.#context.onFinished(this, { summary, body, tensors, bootstrapValue, agentValues, recycled });
  }
}
