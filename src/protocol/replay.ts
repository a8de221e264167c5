import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { TERMINATED_FAILURES } from '../domain/failure.ts';
import { rewardPartSchema, rewardRuleSchema } from '../domain/reward.ts';
import { actionSchema, candidateSchema } from '../domain/space.ts';
import { taskRefSchema } from '../domain/task.ts';
import { helloSchema } from './version.ts';

/** What an episode was, as far as doing it again needs: its environment, task, seed and actions. */
export const executionRequestSchema = z.object({
  env: z.object({ name: z.string(), options: z.record(z.string(), z.unknown()) }),
  task: taskRefSchema,
  /** The episode's. */
  seed: z.int().nonnegative(),
  actions: z.array(actionSchema),
  rewards: z.record(z.string(), rewardRuleSchema),
  /** Longest that a reset or a step may take, ms. */
  stepTimeoutMs: z.int().positive(),
});
export type ExecutionRequest = Readonly<z.infer<typeof executionRequestSchema>>;

/** What the agent saw, did and got. The observation is the one before the action. */
export const executedStepSchema = z.object({
  lines: z.array(z.string()),
  candidates: z.array(candidateSchema),
  action: actionSchema,
  effective: z.boolean(),
  reward: z.number(),
  parts: z.array(rewardPartSchema),
});
export type ExecutedStep = Readonly<z.infer<typeof executedStepSchema>>;

/** How an execution ended: by the environment (`terminated`), or not, because the actions were used up. */
const executionEndSchema = z.object({
  terminated: z.boolean(),
  success: z.boolean(),
  failure: z.enum(TERMINATED_FAILURES).nullable(),
});

/** One execution of an episode. */
export const executionSchema = z.object({
  steps: z.array(executedStepSchema),
  /** Lines of the last observation; null where there was none after the last step. */
  finalLines: z.array(z.string()).nullable(),
  end: executionEndSchema.nullable(),
  /** What went wrong with the environment, at which call, after `steps`; null when nothing did. */
  broken: z.object({ stage: z.enum(['build', 'task', 'reset', 'step']), reason: z.string() }).nullable(),
  /** Of the state after the last step; null where it cannot be had. SHA-256, hex. */
  stateHash: z.string().nullable(),
  /** Version that the environment gives itself. */
  envVersion: z.string(),
});
export type Execution = Readonly<z.infer<typeof executionSchema>>;

/** Below it are the temporary directories of the environments in a process; whoever started that removes it. */
export function replayRoot(pid: number): string {
  return join(tmpdir(), `agentrl-lab-replay-${pid}`);
}

/** Command → the process that does episodes again: one at a time, each answered before the next is asked for. */
export const toReplayerSchema = z.object({ type: z.literal('execute'), request: executionRequestSchema });
export type ToReplayer = Readonly<z.infer<typeof toReplayerSchema>>;

export const fromReplayerSchema = z.discriminatedUnion('type', [
  helloSchema,
  z.object({ type: z.literal('executed'), execution: executionSchema }),
  /** There is no such environment, or it does not take these options: no other episode can be done either. */
  z.object({ type: z.literal('refused'), reason: z.string() }),
]);
export type FromReplayer = Readonly<z.infer<typeof fromReplayerSchema>>;
