import { z } from 'zod';
import { BEHAVIOUR_NAMES, FAILURE_TYPES } from './failure.ts';
import { episodeIdSchema } from './id.ts';
import { REWARD_TRUSTS, rewardPartSchema } from './reward.ts';
import { actionSchema, candidateSchema } from './space.ts';
import { taskRefSchema } from './task.ts';

/** Why an episode is sampled. Evaluation episodes never feed the trainer. */
export const PHASES = ['train', 'eval'] as const;

/** How actions are taken from the policy's distribution. */
export const ACTION_MODES = ['sampled', 'greedy'] as const;
export type ActionMode = (typeof ACTION_MODES)[number];

/** What a worker is asked to do: try one task once. */
export const assignmentSchema = z.object({
  id: episodeIdSchema,
  task: taskRefSchema,
  /** Seed of everything random in this episode; the streams for env and policy are derived from it. */
  seed: z.int().nonnegative(),
  phase: z.enum(PHASES),
  mode: z.enum(ACTION_MODES),
  /** Iteration for which the episode was dispatched. */
  iteration: z.int().nonnegative(),
  /** 1, or more after the episode was lost with its worker and dispatched again. */
  attempt: z.int().positive(),
});
export type Assignment = Readonly<z.infer<typeof assignmentSchema>>;

const failureTypeSchema = z.enum(FAILURE_TYPES);
const behaviourSchema = z.enum(BEHAVIOUR_NAMES);

/** The indexed part of an episode. Exactly one failure type unless it succeeded; `reward` is null when void. */
export const episodeSummarySchema = assignmentSchema.extend({
  taskSeed: z.int().nonnegative(),
  difficulty: z.number(),
  host: z.string(),
  worker: z.int().nonnegative(),
  slot: z.int().nonnegative(),
  /** Policy versions of the first and the last step. */
  firstPolicyVersion: z.int().nonnegative(),
  policyVersion: z.int().nonnegative(),
  steps: z.int().nonnegative(),
  /** Wall-clock start, ms since the epoch, and length in ms. */
  startedAt: z.number(),
  wallMs: z.number().nonnegative(),
  terminated: z.boolean(),
  truncated: z.boolean(),
  success: z.boolean(),
  failure: failureTypeSchema.nullable(),
  /** Free text beside the failure type: the limit that fired, the error that was thrown. */
  failureDetail: z.string().nullable(),
  trust: z.enum(REWARD_TRUSTS),
  reward: z.number().nullable(),
  /** Paid reward by component. */
  components: z.record(z.string(), z.number()),
  behaviours: z.array(behaviourSchema),
  /** What its environment calls the task, for filters. */
  tags: z.array(z.string()).optional(),
  /** How often it used a tool, and how often that failed. */
  tools: z.object({ calls: z.int().nonnegative(), failed: z.int().nonnegative() }).optional(),
  /** The stage that it failed in, where that is known. */
  failureStage: z.string().nullable().optional(),
});
export type EpisodeSummary = Readonly<z.infer<typeof episodeSummarySchema>>;

export const stepRecordSchema = z.object({
  /** Indices into the body's `lines`: the observation before the action. */
  observation: z.array(z.int().nonnegative()),
  /** Index into the body's `candidateSets`. */
  candidates: z.int().nonnegative(),
  action: actionSchema,
  /** Probability of the action under the policy that took it. */
  probability: z.number(),
  /** The policy's value estimate of the observation. */
  value: z.number(),
  /** Entropy of the action distribution, in nats. */
  entropy: z.number(),
  policyVersion: z.int().nonnegative(),
  /** Whether the action changed anything or told the agent anything new. */
  effective: z.boolean(),
  /** Sum of the paid parts. */
  reward: z.number(),
  parts: z.array(rewardPartSchema),
});
export type StepRecord = Readonly<z.infer<typeof stepRecordSchema>>;

/** An episode's steps. Lines and candidate sets occur once each, and steps point at them. */
export const episodeBodySchema = z.object({
  lines: z.array(z.string()),
  candidateSets: z.array(z.array(candidateSchema)),
  steps: z.array(stepRecordSchema),
  /** The observation after the last step. */
  finalObservation: z.array(z.int().nonnegative()),
});
export type EpisodeBody = Readonly<z.infer<typeof episodeBodySchema>>;

/** The lines that a list of indices stands for. */
export function resolveLines(body: EpisodeBody, indices: readonly number[]): string[] {
  return indices.map((index) => body.lines[index] ?? '');
}
