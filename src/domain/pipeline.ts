import { z } from 'zod';

/**
 * The stages that an episode passes, in order: its task is claimed, its environment resets and steps, the policy answers, it is
 * stored, its samples are queued, an update trains on them, and the new weights are broadcast.
 */
export const PIPELINE_STAGES = [
  'claim',
  'reset',
  'step',
  'inference',
  'store',
  'queue',
  'update',
  'broadcast',
] as const;
export type PipelineStage = (typeof PIPELINE_STAGES)[number];

/** The oldest that is in flight in a stage. */
export const stageAgeSchema = z.object({
  stage: z.enum(PIPELINE_STAGES),
  /** How long it has been there, ms. */
  ageMs: z.number().nonnegative(),
  /** What times in this stage were 99 % of the time, ms; null until enough of them were seen. */
  p99Ms: z.number().nonnegative().nullable(),
  /** What it is: `worker 1@local, slot 1411`, `update 12`. */
  subject: z.string(),
  /** How many are in the stage. */
  count: z.int().nonnegative(),
});
export type StageAge = Readonly<z.infer<typeof stageAgeSchema>>;

/** Nothing has come through for longer than a stage takes: who waits for whom, in one line, and which stage is to blame. */
export const stallSchema = z.object({
  stage: z.enum(PIPELINE_STAGES),
  message: z.string(),
  ageMs: z.number().nonnegative(),
});
export type Stall = Readonly<z.infer<typeof stallSchema>>;

/** How the policy is asked, over the last seconds, all workers. Null where no call was made. */
export const batchingSchema = z.object({
  /** Observations in an inference call: mean, and the most that a call may have. */
  rows: z.number().nonnegative().nullable(),
  capacity: z.int().positive(),
  /** How long an observation waited for its call: mean, ms. */
  waitMs: z.number().nonnegative().nullable(),
  /** How long a call waits for further observations at present: the longest of the workers, ms. */
  windowMs: z.number().nonnegative(),
  /** How long a call took: mean, ms. */
  inferenceMs: z.number().nonnegative().nullable(),
});
export type Batching = Readonly<z.infer<typeof batchingSchema>>;

/** Why samplers are slowed down (`soft`) or stand still (`hard`): bytes of samples that wait for an update. */
export const pressureSchema = z.object({
  level: z.enum(['none', 'soft', 'hard']),
  bytes: z.number().nonnegative(),
  softBytes: z.number().positive(),
  hardBytes: z.number().positive(),
  /** Bytes that were queued every two seconds of the last four minutes, oldest first. */
  trail: z.array(z.number().nonnegative()).default([]),
});
export type Pressure = Readonly<z.infer<typeof pressureSchema>>;

/**
 * What became of the time that training episodes took, in slot-seconds (wall-clock of each episode, summed): trained on or
 * waiting for it; left out of batches as too old or too many; void; cut short by a limit; lost with a worker and done again.
 */
export const wasteSchema = z.object({
  useful: z.number().nonnegative(),
  stale: z.number().nonnegative(),
  void: z.number().nonnegative(),
  truncated: z.number().nonnegative(),
  retried: z.number().nonnegative(),
});
export type Waste = Readonly<z.infer<typeof wasteSchema>>;

/** What a worker's process uses; null where the platform does not say. */
export const resourcesSchema = z.object({
  /** Cores, over the last seconds. */
  cpu: z.number().nonnegative().nullable(),
  openFiles: z.int().nonnegative().nullable(),
  /** Below the temporary directories of its slots. */
  tempBytes: z.number().nonnegative().nullable(),
});

/** What is in one slot of a worker, and what it uses. Times are ms. */
export const slotUseSchema = z.object({
  slot: z.int().nonnegative(),
  /** `free`: no episode; `ready`: its observation waits for the policy; else what its environment is waited for. */
  stage: z.enum(['free', 'ready', 'reset', 'step']),
  /** How long that environment has been waited for; null while it is not. */
  waitMs: z.number().nonnegative().nullable(),
  /** The episode in it, for how long, and its steps so far; null while there is none. */
  episode: z.string().nullable(),
  ageMs: z.number().nonnegative().nullable(),
  steps: z.int().nonnegative().nullable(),
  /** Cores that its environment's calls took in the newest whole window; what it does while it is waited for is not in it. */
  cpu: z.number().nonnegative(),
  /** In its temporary directory, when that was last looked at. */
  tempBytes: z.number().nonnegative(),
  /** In its temporary directory; null where the platform does not say. */
  openFiles: z.int().nonnegative().nullable(),
});
export type SlotUse = Readonly<z.infer<typeof slotUseSchema>>;

/** The slots of a worker. `slots` is null when it gave no answer in time; `stuck` is the slot that its main thread is inside of. */
export const workerSlotsSchema = z.object({
  worker: z.string(),
  slots: z.array(slotUseSchema).nullable(),
  stuck: z
    .object({ slot: z.int().nonnegative(), stage: z.string(), ms: z.number().nonnegative() })
    .nullable(),
});
export type WorkerSlots = Readonly<z.infer<typeof workerSlotsSchema>>;
