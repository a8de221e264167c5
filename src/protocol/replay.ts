import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { ACTION_MODES } from '../domain/episode.ts';
import { FAILURE_TYPES } from '../domain/failure.ts';
import { policySpecSchema } from '../domain/policy-spec.ts';
import { rewardPartSchema, rewardRuleSchema } from '../domain/reward.ts';
import { actionSchema, candidateSchema } from '../domain/space.ts';
import { taskRefSchema } from '../domain/task.ts';
import { recordedCallSchema, toolUseSchema } from '../domain/tool.ts';
import { helloSchema } from './version.ts';

/** Who acts once the actions of a request are used up. */
const actingSchema = z.object({
  policy: policySpecSchema,
  mode: z.enum(ACTION_MODES),
  /** Of the stream that actions are drawn from: one number for each step that the policy takes. */
  seed: z.int().nonnegative(),
  /** Policy version for each step of the episode, from its first; the last one acts in all steps after them. */
  versions: z.array(z.int().nonnegative()).min(1),
  /** The episode's limits, as the sampler has them. */
  maxSteps: z.int().positive(),
  episodeTimeoutMs: z.int().positive(),
  /** What was recorded: the policy says how likely it holds each of these in its step. */
  recorded: z.array(actionSchema),
});
export type Acting = Readonly<z.infer<typeof actingSchema>>;

/** What an episode was, as far as doing it again needs: its environment, task, seed and actions. */
export const executionRequestSchema = z.object({
  env: z.object({ name: z.string(), options: z.record(z.string(), z.unknown()) }),
  task: taskRefSchema,
  /** The episode's. */
  seed: z.int().nonnegative(),
  actions: z.array(actionSchema),
  /** Null: nobody; the execution ends with the actions. */
  acting: actingSchema.nullable(),
  rewards: z.record(z.string(), rewardRuleSchema),
  /** What tools got from outside, in order; `step` is that in which they asked, from 1, and 0 before the first. */
  calls: z.array(recordedCallSchema.extend({ step: z.int().nonnegative() })),
  /** Whether tools that only read are called again, and what they answer compared with the record. */
  liveTools: z.boolean(),
  /** Longest that a reset or a step may take, ms. */
  stepTimeoutMs: z.int().positive(),
});
export type ExecutionRequest = Readonly<z.infer<typeof executionRequestSchema>>;

/** What the policy said of a step that it took. */
const executedDecisionSchema = z.object({
  policyVersion: z.int().nonnegative(),
  /** Of the action that it took. */
  probability: z.number(),
  value: z.number(),
  /** Of the recorded action; null where there is none, or it is not on offer. */
  recordedProbability: z.number().nullable(),
});
export type ExecutedDecision = Readonly<z.infer<typeof executedDecisionSchema>>;

/** What the agent saw, did and got. The observation is the one before the action. */
export const executedStepSchema = z.object({
  lines: z.array(z.string()),
  candidates: z.array(candidateSchema),
  action: actionSchema,
  effective: z.boolean(),
  reward: z.number(),
  parts: z.array(rewardPartSchema),
  tool: toolUseSchema.optional(),
  /** ms until the environment answered, where it did so later. */
  ms: z.number().nonnegative().optional(),
  /** Hash of the state after the step; absent where it cannot be had, or was not recorded. */
  state: z.string().optional(),
  /** Absent where a recorded action was taken. */
  decision: executedDecisionSchema.optional(),
  /** Who acted, in an episode of several agents. */
  agent: z.string().optional(),
});
export type ExecutedStep = Readonly<z.infer<typeof executedStepSchema>>;

/**
 * How an execution ended: by the environment (`terminated`), by a limit (`max_steps`, `wall_clock`; or success, where the task was
 * to last), or not, because the actions were used up.
 */
const executionEndSchema = z.object({
  terminated: z.boolean(),
  success: z.boolean(),
  failure: z.enum(FAILURE_TYPES).nullable(),
});

/** A call of a tool to the outside. Answers are JSON in short. */
const executedCallSchema = z.object({
  step: z.int().nonnegative(),
  tool: z.string(),
  /** Where the answer came from; `nowhere`: the call is not in the record, and could not be made. */
  from: z.enum(['record', 'outside', 'nowhere']),
  /** Whether the answer is the recorded one. */
  same: z.boolean(),
  recorded: z.string().nullable(),
  executed: z.string().nullable(),
  recordedMs: z.number().nullable(),
  ms: z.number().nullable(),
});
export type ExecutedCall = Readonly<z.infer<typeof executedCallSchema>>;

/** One execution of an episode. */
export const executionSchema = z.object({
  steps: z.array(executedStepSchema),
  /** Lines of the last observation; null where there was none after the last step. */
  finalLines: z.array(z.string()).nullable(),
  /** Who saw it, in an episode of several agents. */
  finalAgent: z.string().optional(),
  end: executionEndSchema.nullable(),
  /** What went wrong with the environment, at which call, after `steps`; null when nothing did. */
  broken: z.object({ stage: z.enum(['build', 'task', 'reset', 'step']), reason: z.string() }).nullable(),
  calls: z.array(executedCallSchema),
  /** Version that the environment gives itself. */
  envVersion: z.string(),
});
export type Execution = Readonly<z.infer<typeof executionSchema>>;

/** Below it are the temporary directories of the environments in a process; whoever started that removes it. */
export function replayRoot(pid: number): string {
  return join(tmpdir(), `agentrl-lab-replay-${pid}`);
}

/**
 * Command → the process that does episodes again: one at a time, each answered before the next is asked for. `weights` carries
 * attachment `weights` (float32, trainer/policy's order), and comes before the first request that names the version.
 */
export const toReplayerSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('weights'), policyVersion: z.int().nonnegative() }),
  z.object({ type: z.literal('execute'), request: executionRequestSchema }),
]);
export type ToReplayer = Readonly<z.infer<typeof toReplayerSchema>>;

export const fromReplayerSchema = z.discriminatedUnion('type', [
  helloSchema,
  z.object({ type: z.literal('executed'), execution: executionSchema }),
  /** There is no such environment, or it does not take these options: no other episode can be done either. */
  z.object({ type: z.literal('refused'), reason: z.string() }),
]);
export type FromReplayer = Readonly<z.infer<typeof fromReplayerSchema>>;
