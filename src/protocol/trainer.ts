import { z } from 'zod';
import { episodeIdSchema } from '../domain/id.ts';
import { knobNameSchema, knobValuesSchema } from '../domain/knob.ts';
import { policySpecSchema } from '../domain/policy-spec.ts';
import { iterationMetricsSchema, knobChangeSchema } from '../domain/run.ts';
import { helloSchema } from './version.ts';

/** What the trainer is told once. Knobs come apart, since they change. */
export const trainerSettingsSchema = z.object({
  seed: z.int().nonnegative(),
  policy: policySpecSchema,
  gamma: z.number().min(0).max(1),
  lambda: z.number().min(0).max(1),
  gradientNorm: z.number().positive(),
  adamEpsilon: z.number().positive(),
  threads: z.int().positive(),
});
export type TrainerSettings = Readonly<z.infer<typeof trainerSettingsSchema>>;

/** Everything of the trainer that is not weights and Adam moments. */
export const trainerStateSchema = z.object({
  policyVersion: z.int().nonnegative(),
  /** Adam's step count. */
  adamStep: z.int().nonnegative(),
  knobs: knobValuesSchema,
  random: z.array(z.number()).length(4),
});
export type TrainerState = Readonly<z.infer<typeof trainerStateSchema>>;

/**
 * One episode as the trainer sees it; n steps, A flat actions. Attachments: `tokens` u16 [n, sentences, tokens] ·
 * `candidates` u16 [n, slots, CANDIDATE_TOKENS] · `mask` u8 [n, A] · `actions` u16 [n] · `logProbabilities` f32 [n, A]
 * of the sampling policy · `values` f32 [n] · `rewards` f32 [n] · `versions` u32 [n].
 */
export const samplesSchema = z.object({
  id: episodeIdSchema,
  steps: z.int().positive(),
  terminated: z.boolean(),
  /** V(s_T) when the episode did not terminate, else null. */
  bootstrapValue: z.number().nullable(),
});
export type SamplesHeader = Readonly<z.infer<typeof samplesSchema>>;
export const SAMPLE_TENSORS = [
  'tokens',
  'candidates',
  'mask',
  'actions',
  'logProbabilities',
  'values',
  'rewards',
  'versions',
] as const;

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
  z.object({ type: z.literal('set'), knob: knobNameSchema, value: z.number(), who: z.string() }),
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
  staleness: true,
  minibatches: true,
  stoppedEarly: true,
  updateS: true,
});
export type UpdateMetrics = Readonly<z.infer<typeof updateMetricsSchema>>;

/** Trainer → run process. `ready` and `updated` carry `weights` and `optimiser` (float32). */
export const fromTrainerSchema = z.discriminatedUnion('type', [
  helloSchema,
  z.object({ type: z.literal('ready'), state: trainerStateSchema }),
  z.object({
    type: z.literal('updated'),
    iteration: z.int().positive(),
    metrics: updateMetricsSchema,
    state: trainerStateSchema,
  }),
  /** An update that gave NaN or infinity was dropped; the weights are those before it. */
  z.object({ type: z.literal('rejected'), iteration: z.int().positive(), reason: z.string() }),
  z.object({ type: z.literal('knob'), change: knobChangeSchema }),
  /** Sign of life, sent every second and after each minibatch. */
  z.object({
    type: z.literal('alive'),
    minibatch: z.int().nonnegative(),
    minibatches: z.int().nonnegative(),
  }),
]);
export type FromTrainer = Readonly<z.infer<typeof fromTrainerSchema>>;
