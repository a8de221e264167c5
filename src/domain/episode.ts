import { z } from 'zod';
import { BEHAVIOUR_NAMES, FAILURE_STAGES, FAILURE_TYPES } from './failure.ts';
import { episodeIdSchema } from './id.ts';
import { REWARD_TRUSTS, rewardPartSchema } from './reward.ts';
import { actionSchema, candidateSchema } from './space.ts';
import { taskRefSchema } from './task.ts';
import { NO_TOOLS, recordedCallSchema, toolStatisticsSchema, toolUseSchema } from './tool.ts';

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
  /** 1; more after it was lost with its worker and dispatched again, or where the task came to nothing before. */
  attempt: z.int().positive(),
});
export type Assignment = Readonly<z.infer<typeof assignmentSchema>>;

const failureTypeSchema = z.enum(FAILURE_TYPES);
const behaviourSchema = z.enum(BEHAVIOUR_NAMES);

/** Where an episode's wall clock went, ms; all 0 for one that was recorded before this was measured. */
const stageTimesSchema = z.object({
  /** Until the first observation was there. */
  resetMs: z.number().nonnegative(),
  /** In the environment's steps. Answers given at once are measured by the slice, and shared out evenly. */
  stepMs: z.number().nonnegative(),
  /** All the rest: encoding, inference, and waiting for its turn in a batch. */
  inferenceMs: z.number().nonnegative(),
});
export type StageTimes = Readonly<z.infer<typeof stageTimesSchema>>;
export const NO_STAGES: StageTimes = { resetMs: 0, stepMs: 0, inferenceMs: 0 };

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
  /** What the environment was at when the episode failed of it; null for other failures, and where nobody can say. */
  failureStage: z.enum(FAILURE_STAGES).nullable().default(null),
  trust: z.enum(REWARD_TRUSTS),
  reward: z.number().nullable(),
  /** Paid reward by component. */
  components: z.record(z.string(), z.number()),
  behaviours: z.array(behaviourSchema),
  /** What the environment says of the task beside family and difficulty. */
  tags: z.array(z.string()).readonly().default([]),
  tools: toolStatisticsSchema.default(NO_TOOLS),
  stages: stageTimesSchema.default(NO_STAGES),
  /** Paid reward by agent, of an episode of several: every agent has its entry, and together they are `reward`. */
  agentRewards: z.record(z.string(), z.number()).optional(),
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
  /**
   * The likeliest actions, [which, probability] each, the likeliest first. `which` is the place of a candidate in the step's
   * set; of an action without an argument it is -1 - its place in ACTION_TYPES. Absent in records made before this was kept.
   */
  likeliest: z.array(z.tuple([z.int(), z.number()])).optional(),
  /** The tool that the action ran. */
  tool: toolUseSchema.optional(),
  /** ms until the environment answered, where it did so later; one that answers at once is not timed by the step. */
  ms: z.number().nonnegative().optional(),
  /** Hash of the environment's state after the step (`stateHash`), where the run records it. */
  state: z.string().optional(),
  /** What its tools asked of the outside, and got. */
  calls: z.array(recordedCallSchema).optional(),
  /** Who acted, in an episode of several agents. */
  agent: z.string().optional(),
});
export type StepRecord = Readonly<z.infer<typeof stepRecordSchema>>;

/** An episode's steps. Lines and candidate sets occur once each, and steps point at them. */
export const episodeBodySchema = z.object({
  lines: z.array(z.string()),
  candidateSets: z.array(z.array(candidateSchema)),
  steps: z.array(stepRecordSchema),
  /** The observation after the last step. */
  finalObservation: z.array(z.int().nonnegative()),
  /** Whose turn it would have been then, in an episode of several agents. */
  finalAgent: z.string().optional(),
  /** What tools asked of the outside before the first step. */
  resetCalls: z.array(recordedCallSchema).optional(),
});
export type EpisodeBody = Readonly<z.infer<typeof episodeBodySchema>>;

/** How many agents an episode has. */
export function agentCount({ agentRewards }: Pick<EpisodeSummary, 'agentRewards'>): number {
  return agentRewards === undefined ? 1 : Object.keys(agentRewards).length;
}

/** The lines that a list of indices stands for. */
export function resolveLines(body: EpisodeBody, indices: readonly number[]): string[] {
  return indices.map((index) => body.lines[index] ?? '');
}

/** Characters of an observation in a row's short text. */
const SHORT_OBSERVATION = 500;

/** The first and the last observation of an episode in short: their lines, cut to 500 characters together. */
export function shortObservations(body: EpisodeBody): { first: string; last: string } {
  const short = (indices: readonly number[]): string =>
    resolveLines(body, indices).join('\n').slice(0, SHORT_OBSERVATION);
  return {
    first: short(body.steps[0]?.observation ?? body.finalObservation),
    last: short(body.finalObservation),
  };
}
