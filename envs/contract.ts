import type { TerminatedFailure } from '../src/domain/failure.ts';
import type { Action, Observation } from '../src/domain/space.ts';
import type { Catalog, Task, TaskRef } from '../src/domain/task.ts';
import type { ToolUse } from '../src/domain/tool.ts';

/** A value now, or later: environments whose tools wait return a promise, the others need not. */
export type Eventual<T> = T | Promise<T>;

/** What a step did. */
export interface StepResult {
  readonly observation: Observation;
  /** Raw reward components by name; only the reward aggregator makes a number of them. */
  readonly components: Readonly<Record<string, number>>;
  /**
   * Components for others than the agent that acted, by agent, in an episode of several: `components` are for that one alone.
   */
  readonly paid?: Readonly<Record<string, Readonly<Record<string, number>>>> | undefined;
  /** The task came to its end (Gymnasium's `terminated`). Step limits are the sampler's business, not the environment's. */
  readonly terminated: boolean;
  /** Set with `terminated`. */
  readonly success: boolean;
  /** Set with `terminated` when not successful. */
  readonly failure: TerminatedFailure | null;
  /** Whether the action changed anything, or told the agent anything new. */
  readonly effective: boolean;
  /** The tool that the action ran, if it ran one. */
  readonly tool?: ToolUse | undefined;
}

/**
 * One live environment: a slot. All randomness comes from the seeds given; two environments given the same task, seed and
 * actions show the same observations, whatever either was used for before.
 *
 * Where the catalog names `agents`, they act one at a time: each observation says who sees it, and the next action is that
 * agent's. Who is next is the environment's to say.
 */
export interface Environment {
  /** Begins an episode. Reuses whatever it can: must leave no trace of the episode before. */
  reset(task: Task, seed: number): Eventual<Observation>;
  /** Takes an action that the last observation offered. Throws only when the environment itself is broken. */
  step(action: Action): Eventual<StepResult>;
  /**
   * What an agent sees now, although it is another one's turn; changes nothing. Asked for when an episode of several agents is cut
   * short, to value what was still to come for each. Absent: the observation on which it acted last stands for it.
   */
  look?(agent: string): Observation;
  /** The whole state as plain JSON, for hashing and comparison. */
  getState(): unknown;
  /** Throws everything away, as if newly built. */
  fullReset(): Eventual<void>;
  close(): Eventual<void>;
}

/** A call of a tool to something outside the environment: a service, a model, a database. */
export interface ToolCall {
  /** Its name in the definition's `tools`. */
  readonly tool: string;
  /** What is asked: plain JSON, the same for the same question. */
  readonly request: unknown;
}

/** The way to everything outside: in a run what came back is recorded, and an episode that is done again gets it from the record. */
export interface ToolSource {
  /**
   * Resolves to what `live` resolves to, as JSON carries it, and rejects as it does. When an episode is done again, `live` is not
   * called: the answer is the recorded one of the same call; it rejects for one that is not in the record.
   */
  call(call: ToolCall, live: () => Promise<unknown>): Promise<unknown>;
}

/** What a definition says of a tool that calls out. */
export interface ToolContract {
  /** Changes nothing outside, so that it may be called again when an episode is done again. */
  readonly readOnly: boolean;
}

/** What a slot has for the environment in it alone. */
export interface SlotResources {
  /**
   * A directory of its own: made, empty, at the first call, removed with the environment, whatever becomes of its process.
   * What it holds counts against `supervision.slotTempMiB`.
   */
  tempDirectory(): string;
  /** For environments whose definition has `tools`. Absent where nothing is recorded: call what is outside directly. */
  readonly toolSource?: ToolSource | undefined;
}

/** What the registry holds for each environment. */
export interface EnvironmentDefinition {
  /** What it offers: families, numbers of tasks, step limit. */
  readonly catalog: Catalog;
  /** The tools that call out, by name; their calls go through `SlotResources.toolSource`. Absent: it has none. */
  readonly tools?: Readonly<Record<string, ToolContract>>;
  /** Builds the task that a reference names. Throws `environment-invalid` for one that does not exist. */
  createTask(ref: TaskRef): Task;
  /** `resources` is there in every run; absent where an environment is only looked at. */
  create(options: Readonly<Record<string, unknown>>, resources?: SlotResources): Environment;
  /** A policy that solves every task, for tests and for `env check`; sees the task, not only the observation. */
  createOracle?(task: Task): (observation: Observation) => Action;
}
