import { z } from 'zod';
import { episodeIdSchema } from '../domain/id.ts';
import { knobNameSchema, knobValuesSchema } from '../domain/knob.ts';
import { policySpecSchema } from '../domain/policy-spec.ts';
import { iterationMetricsSchema, knobChangeSchema, previewSchema } from '../domain/run.ts';
import { guardLimitsSchema, trainerOptionsSchema } from '../domain/trainer-options.ts';
import { helloSchema } from './version.ts';

/** What the trainer is told once. Knobs come apart, since they change. */
export const trainerSettingsSchema = trainerOptionsSchema.extend({
  seed: z.int().nonnegative(),
  policy: policySpecSchema,
  guard: guardLimitsSchema,
});
export type TrainerSettings = Readonly<z.infer<typeof trainerSettingsSchema>>;

/** Everything of the trainer that is not weights and Adam moments. */
export const trainerStateSchema = z.object({
  policyVersion: z.int().nonnegative(),
  /** Adam's step count. */
  adamStep: z.int().nonnegative(),
  knobs: knobValuesSchema,
  random: z.array(z.number()).length(4),
  /** Discounted returns of the newest episodes, oldest first, for the scaling of rewards. */
  rewardWindow: z.array(z.number()).default([]),
});
export type TrainerState = Readonly<z.infer<typeof trainerStateSchema>>;

/**
 * Of an episode of several agents, V(s_T) of each, in the order in which the catalog names them; 0 for one that has not acted, and
 * of an episode that terminated.
 */
export const agentValuesSchema = z.array(z.number()).min(1).readonly();

/**
 * One episode, or an unfinished piece of one, as the trainer sees it; n steps, A flat actions. Attachments: the policy's
 * observation tensors (`observationTensors`), n of each · `actions` u16 [n] · `logProbabilities` f32 [n, A] of the sampling
 * policy · `values` f32 [n] · `rewards` f32 [n] · `versions` u32 [n]. An episode of
 * several agents has `agents` u8 [n] too, whose step each is; the reward of a step is what its agent was paid until its next.
 * Or all of them, in this order, as one, `samples`.
 */
export const samplesSchema = z.object({
  id: episodeIdSchema,
  steps: z.int().positive(),
  terminated: z.boolean(),
  /** More of the episode follows in another piece: V(s_T) then goes into its returns whatever the options say. */
  unfinished: z.boolean().optional(),
  /** V(s_T) when the episode did not terminate, else null. */
  bootstrapValue: z.number().nullable(),
  /** Of an episode of several agents: its steps are as many courses as agents acted. */
  agentValues: agentValuesSchema.optional(),
});
export type SamplesHeader = Readonly<z.infer<typeof samplesSchema>>;

/** Run process → trainer. `start` may carry `weights` and `optimiser` (float32) with `state`, to go on from them. */
export const toTrainerSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('start'),
    settings: trainerSettingsSchema,
    knobs: knobValuesSchema,
    state: trainerStateSchema.nullable(),
    /** Number of the next update. */
    iteration: z.int().positive(),
  }),
  z.object({ type: z.literal('samples'), samples: samplesSchema }),
  /** Train on the samples sent since the last update. */
  z.object({ type: z.literal('update'), iteration: z.int().positive() }),
  z.object({
    type: z.literal('set'),
    knob: knobNameSchema,
    value: z.number(),
    who: z.string(),
    undo: z.boolean().default(false),
  }),
  /** Asks what knobs would do to the newest update. */
  z.object({ type: z.literal('preview'), id: z.int(), knobs: z.partialRecord(knobNameSchema, z.number()) }),
  /** Between two minibatches: rest until `resume`. */
  z.object({ type: z.literal('pause') }),
  z.object({ type: z.literal('resume') }),
  z.object({ type: z.literal('stop') }),
]);
export type ToTrainer = Readonly<z.infer<typeof toTrainerSchema>>;

/** What an update says of itself: the trainer's share of a row of metrics. */
export const updateMetricsSchema = iterationMetricsSchema.pick({
  kl: true,
  klCoefficient: true,
  clipFraction: true,
  entropy: true,
  policyLoss: true,
  valueLoss: true,
  explainedVariance: true,
  gradientNorm: true,
  klK1: true,
  klK3: true,
  learningRate: true,
  entropyCoefficient: true,
  staleness: true,
  stalest: true,
  staleCounts: true,
  minibatches: true,
  stoppedEarly: true,
  updateS: true,
});
export type UpdateMetrics = Readonly<z.infer<typeof updateMetricsSchema>>;

/**
 * Where in an update something happened, and the episodes whose samples had the largest |log ratio|, largest first; null
 * stands for what is not finite.
 */
export const updateSpotSchema = z.object({
  minibatch: z.int().nonnegative(),
  kl: z.number().nullable(),
  episodes: z.array(z.object({ id: z.string(), logRatio: z.number().nullable() })),
});
export type UpdateSpot = Readonly<z.infer<typeof updateSpotSchema>>;

/** Why an update was dropped. */
export const REJECTIONS = ['bad_batch', 'not_finite', 'kl_spike', 'entropy_collapse'] as const;
export type Rejection = (typeof REJECTIONS)[number];

/** Trainer → run process. `ready` and `updated` carry `weights` and `optimiser` (float32). */
export const fromTrainerSchema = z.discriminatedUnion('type', [
  helloSchema,
  /** It can never do what it was told to: the run fails for this reason. */
  z.object({ type: z.literal('refused'), reason: z.string() }),
  /** `provider`: what it really runs on; `fellBackFrom`: providers asked for that are not there, each with the reason. */
  z.object({
    type: z.literal('ready'),
    state: trainerStateSchema,
    provider: z.string(),
    fellBackFrom: z.array(z.object({ provider: z.string(), reason: z.string() })),
  }),
  z.object({
    type: z.literal('updated'),
    iteration: z.int().positive(),
    metrics: updateMetricsSchema,
    state: trainerStateSchema,
    /** Where the KL limit ended it early, or null. */
    stop: updateSpotSchema.nullable(),
  }),
  /** The update was dropped; the weights are those before it. */
  z.object({
    type: z.literal('rejected'),
    iteration: z.int().positive(),
    cause: z.enum(REJECTIONS),
    reason: z.string(),
    /** Null when the batch was refused as a whole. */
    spot: updateSpotSchema.nullable(),
  }),
  z.object({
    type: z.literal('preview'),
    id: z.int(),
    /** Null when there is nothing to compute it from; `reason` says why. */
    preview: previewSchema.nullable(),
    reason: z.string().nullable(),
  }),
  z.object({ type: z.literal('knob'), change: knobChangeSchema }),
  /** Sign of life, sent every second and after each minibatch. */
  z.object({
    type: z.literal('alive'),
    minibatch: z.int().nonnegative(),
    minibatches: z.int().nonnegative(),
  }),
]);
export type FromTrainer = Readonly<z.infer<typeof fromTrainerSchema>>;
