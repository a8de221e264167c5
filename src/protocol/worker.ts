import { z } from 'zod';
import { assignmentSchema, episodeSummarySchema } from '../domain/episode.ts';
import { histogramDataSchema } from '../domain/histogram.ts';
import { hostFiguresSchema } from '../domain/host.ts';
import { auditRuleSchema, resetDifferenceSchema } from '../domain/leak.ts';
import { PIPELINE_STAGES, resourcesSchema, slotUseSchema } from '../domain/pipeline.ts';
import { policySpecSchema } from '../domain/policy-spec.ts';
import { PROVIDERS } from '../domain/provider.ts';
import { recordRuleSchema } from '../domain/recording.ts';
import { rewardRuleSchema } from '../domain/reward.ts';
import { catalogSchema } from '../domain/task.ts';
import { agentValuesSchema } from './trainer.ts';
import { helloSchema } from './version.ts';

/** What a worker and its slots may use. */
const workerLimitsSchema = z.object({
  /** Resident memory; null: a share of the host's, among so many workers. */
  memoryMiB: z.number().positive().nullable(),
  hostWorkers: z.int().positive(),
  slotTempBytes: z.number().positive(),
  openFiles: z.int().positive(),
});
export type WorkerLimits = Readonly<z.infer<typeof workerLimitsSchema>>;

export const workerSettingsSchema = z.object({
  worker: z.int().nonnegative(),
  host: z.string(),
  env: z.object({ name: z.string(), options: z.record(z.string(), z.unknown()) }),
  slots: z.int().positive(),
  /** Most observations in one inference call. */
  slice: z.int().positive(),
  /** How long a call may wait for further observations; absent: never. See src/sampling/batch-window.ts. */
  batch: z
    .object({
      minRows: z.int().positive(),
      minWindowMs: z.number().nonnegative(),
      maxWindowMs: z.number().nonnegative(),
    })
    .optional(),
  /** False: every episode gets an environment built anew; absent: slots are reused. */
  reuseSlots: z.boolean().optional(),
  inferenceThreads: z.int().positive(),
  /** Execution providers, the preferred one first, and whether one that does not work may be passed over. */
  providers: z.array(z.enum(PROVIDERS)).min(1),
  allowFallback: z.boolean(),
  policy: policySpecSchema,
  /** Who acts; absent: the policy. `random`: any legal action, without weights, and every report is measured. */
  actor: z.enum(['policy', 'random']).optional(),
  rewards: z.record(z.string(), rewardRuleSchema),
  maxSteps: z.int().positive(),
  stepTimeoutMs: z.int().positive(),
  episodeTimeoutMs: z.int().positive(),
  /** Bytes of finished episodes that may wait for their acknowledgement before stepping stops. */
  unackedBytes: z.int().positive(),
  /** Absent: none are enforced. */
  limits: workerLimitsSchema.optional(),
  /** Absent: resets are not audited. */
  audit: auditRuleSchema.optional(),
  /** Absent: records of steps hold what happened alone. */
  record: recordRuleSchema.optional(),
  /** Before each batch it waits for the run's answer to all that it said: what it samples then depends on no clock. */
  lockstep: z.boolean().optional(),
  /** Its reports say how its host is. */
  watchHost: z.boolean().optional(),
});
export type WorkerSettings = Readonly<z.infer<typeof workerSettingsSchema>>;

/**
 * Run process → worker. `weights` carries attachment `weights` (float32, trainer/policy's order).
 * `hold` stops stepping at once and keeps every slot where it is; `go` continues. `pace` is the part of the steps per second
 * that it could make, 1 until it is told otherwise. `slots` asks what is in each.
 */
export const toWorkerSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('start'), settings: workerSettingsSchema }),
  z.object({ type: z.literal('weights'), policyVersion: z.int().nonnegative() }),
  z.object({ type: z.literal('dispatch'), episodes: z.array(assignmentSchema) }),
  z.object({ type: z.literal('hold') }),
  z.object({ type: z.literal('go') }),
  z.object({ type: z.literal('pace'), fraction: z.number().positive().max(1) }),
  z.object({ type: z.literal('ack'), bytes: z.int().nonnegative() }),
  z.object({ type: z.literal('slots') }),
  /** All that was said before its `sync` has been dealt with, and what came of it was sent. */
  z.object({ type: z.literal('synced') }),
  /** Episodes of this family get a new environment each: one that was used before leaks into them. */
  z.object({ type: z.literal('quarantine'), family: z.string() }),
  z.object({ type: z.literal('stop') }),
]);
export type ToWorker = Readonly<z.infer<typeof toWorkerSchema>>;

/** What a worker calls its environment for. */
export type MeasuredStage = 'task' | 'reset' | 'step';

/** Why a worker had nothing to do: held by the run, or it waited for answers of environments, for tasks, for acknowledgement. */
export type IdleCause = 'held' | 'answers' | 'tasks' | 'acknowledgement';

/** Since the last report, by a closer look that only a bench pays for; see src/sampling/measure.ts. */
const workerMeasureSchema = z.object({
  /** Lengths of the calls `createTask`, `reset` and `step`, each until its answer. */
  stages: z.object({ task: histogramDataSchema, reset: histogramDataSchema, step: histogramDataSchema }),
  wallMs: z.number(),
  /** Inside those calls until they returned; what an environment does while it is waited for is not in it. */
  environmentMs: z.number(),
  idleMs: z.object({ held: z.number(), answers: z.number(), tasks: z.number(), acknowledgement: z.number() }),
  cpuMs: z.number(),
  /** Memory before there was a slot, and the most so far. */
  emptyRssMiB: z.number(),
  peakRssMiB: z.number(),
});
export type WorkerMeasure = Readonly<z.infer<typeof workerMeasureSchema>>;

/** A stage of the pipeline as a worker sees it. */
const workerStageSchema = z.object({
  stage: z.enum(PIPELINE_STAGES),
  /** How long the oldest has been in it, ms; 0 when nothing is. */
  ageMs: z.number().nonnegative(),
  count: z.int().nonnegative(),
  /** Where the oldest is, if it is in a slot. */
  slot: z.int().nonnegative().nullable(),
  /** How long those were in it that left it since the last report. */
  seen: histogramDataSchema,
});
export type WorkerStage = Readonly<z.infer<typeof workerStageSchema>>;

/** A slot that uses far more than its peers. */
const slotDriftSchema = z.object({
  slot: z.int().nonnegative(),
  figure: z.enum(['cpuMs', 'tempBytes', 'openFiles']),
  value: z.number(),
  /** The median of all slots of the worker. */
  median: z.number(),
});
export type SlotDrift = Readonly<z.infer<typeof slotDriftSchema>>;

/** A slot whose environment was given up between two episodes, so that none of them tells of it. */
const slotRebuildSchema = z.object({ slot: z.int().nonnegative(), reason: z.string() });
export type SlotRebuild = Readonly<z.infer<typeof slotRebuildSchema>>;

/** What the watchdogs want to know of a worker. */
const workerWatchSchema = z.object({
  stages: z.array(workerStageSchema),
  /** Of the weights that it has; -1 before the first. */
  policyVersion: z.int().min(-1),
  resources: resourcesSchema,
  drifts: z.array(slotDriftSchema),
  rebuilds: z.array(slotRebuildSchema),
  /** How its host is, where it was told to say so. */
  host: hostFiguresSchema.optional(),
});
export type WorkerWatchReport = Readonly<z.infer<typeof workerWatchSchema>>;

/** Where a worker's time went since its last report, in ms, and what it did meanwhile. */
export const workerReportSchema = z.object({
  /** Since the last report, or since the worker was made. */
  wallMs: z.number(),
  steps: z.int().nonnegative(),
  inferenceCalls: z.int().nonnegative(),
  encodeMs: z.number(),
  inferenceMs: z.number(),
  stepMs: z.number(),
  recordMs: z.number(),
  /** Nothing to do: no observation waited, or the run held the worker. */
  idleMs: z.number(),
  /** How long observations waited for their call, summed over them. Like the next three without time in which it was held. */
  waitMs: z.number(),
  /** Waited for a larger batch, by the rule. */
  gatherMs: z.number(),
  /** No call was under way although observations waited, and not by the rule: for messages, timers, other processes. */
  lateMs: z.number(),
  /** How long slots were without an episode, summed over them. */
  freeMs: z.number(),
  /** How long a call waits for further observations at present. */
  windowMs: z.number(),
  busySlots: z.int().nonnegative(),
  rssMiB: z.number(),
  measure: workerMeasureSchema.optional(),
  watch: workerWatchSchema.optional(),
  /** Resets that were audited. */
  audits: z.int().nonnegative().optional(),
});
export type WorkerReport = Readonly<z.infer<typeof workerReportSchema>>;

/**
 * Worker → run process. `episode` carries attachment `body` (JSON of an EpisodeBody) and, for trainable episodes, the
 * sample tensors (see trainer.ts). `bytes` is what has to be acknowledged for it. On its way its summary and its tensors are
 * one attachment each (`packEpisode`).
 */
export const fromWorkerSchema = z.discriminatedUnion('type', [
  helloSchema,
  /** `provider`: what it really runs on; `fellBackFrom`: providers asked for that do not work, each with the reason. */
  z.object({
    type: z.literal('ready'),
    catalog: catalogSchema,
    provider: z.string(),
    fellBackFrom: z.array(z.object({ provider: z.string(), reason: z.string() })),
  }),
  /** It can never do what it was told to, nor can another one: the run fails for this reason. */
  z.object({ type: z.literal('refused'), reason: z.string() }),
  z.object({ type: z.literal('claim'), count: z.int().positive() }),
  z.object({
    type: z.literal('episode'),
    summary: episodeSummarySchema,
    bytes: z.int().nonnegative(),
    bootstrapValue: z.number().nullable(),
    /** Of an episode of several agents; see trainer.ts. */
    agentValues: agentValuesSchema.optional(),
    /** Its environment had an episode before. */
    recycled: z.boolean().optional(),
  }),
  /** Of a worker in lockstep: it waits for `synced`. */
  z.object({ type: z.literal('sync') }),
  /** The audit of a reset found a difference; the worker has quarantined the family. */
  z.object({ type: z.literal('leak'), difference: resetDifferenceSchema }),
  /** An audit came to no result; said once a family. */
  z.object({ type: z.literal('audit_failed'), family: z.string(), reason: z.string() }),
  z.object({ type: z.literal('report'), report: workerReportSchema }),
  z.object({ type: z.literal('slots'), slots: z.array(slotUseSchema) }),
]);
export type FromWorker = Readonly<z.infer<typeof fromWorkerSchema>>;
