import { z } from 'zod';
import { alertStatusSchema } from './alert-status.ts';
import { hostFiguresSchema } from './host.ts';
import { knobNameSchema, knobValuesSchema } from './knob.ts';
import { leakSchema } from './leak.ts';
import {
  batchingSchema,
  pressureSchema,
  resourcesSchema,
  stageAgeSchema,
  stallSchema,
  wasteSchema,
} from './pipeline.ts';

/** Version of the run directory's format; 2: segments may hold groups of episodes; 3: packed by brotli. A newer one is refused. */
export const RUN_FORMAT = 3;

/**
 * `starting` until all children are ready; `stalled` when sampling cannot go on and somebody has to act
 * (`reason` says why); `quiesced` is paused with nothing in flight and everything in a checkpoint (`reason` names it); `finished` when the run's own end was reached, `stopped` when somebody asked.
 */
export const RUN_STATES = [
  'starting',
  'running',
  'pausing',
  'paused',
  'quiesced',
  'stalled',
  'stopping',
  'stopped',
  'finished',
  'failed',
] as const;
export type RunState = (typeof RUN_STATES)[number];

/** States in which no process of the run is left. */
export function isFinal(state: RunState): boolean {
  return state === 'stopped' || state === 'finished' || state === 'failed';
}

/** What run.json holds. */
export const runManifestSchema = z.object({
  format: z.int().positive(),
  id: z.string(),
  name: z.string(),
  createdAt: z.number(),
  labVersion: z.string(),
  seed: z.int().nonnegative(),
  state: z.enum(RUN_STATES),
  /** Why the state is what it is, where that is not obvious. */
  reason: z.string().nullable(),
  /** Number of starts and resumes so far. */
  attempt: z.int().positive(),
  /** Address of the control socket: a path, as short as the platform demands. */
  socket: z.string(),
  pid: z.int().nullable(),
  /** The run and its iteration that this one was branched from. */
  parent: z.object({ run: z.string(), iteration: z.int().nonnegative() }).nullable().default(null),
});
export type RunManifest = Readonly<z.infer<typeof runManifestSchema>>;

/** Held-out results of one policy version. Rates are in [0, 1]; null where nothing was tried. */
export const evaluationSchema = z.object({
  iteration: z.int().nonnegative(),
  policyVersion: z.int().nonnegative(),
  mode: z.enum(['sampled', 'greedy']),
  episodes: z.int().nonnegative(),
  success: z.number(),
  byFamily: z.record(z.string(), z.number()),
});
export type Evaluation = Readonly<z.infer<typeof evaluationSchema>>;

/** One row of metrics: one PPO update phase. Rates and means of episodes are over the batch that was trained on. */
export const iterationMetricsSchema = z.object({
  iteration: z.int().positive(),
  policyVersion: z.int().nonnegative(),
  attempt: z.int().positive(),
  /** Wall clock, ms since the epoch. */
  time: z.number(),
  /** Seconds of running time of all attempts, pauses excluded. */
  elapsedS: z.number(),
  /** Totals of the run so far, training episodes only. */
  episodes: z.int(),
  envSteps: z.int(),
  /**
   * Training steps over all the running time since the newest row before it in whose time anything was sampled, updates and
   * evaluations included. A row in whose time nothing was (the queue held its batch) goes on with the rate of the one before.
   */
  envStepsPerS: z.number(),
  batchEpisodes: z.int(),
  batchSteps: z.int(),
  reward: z.number(),
  success: z.number(),
  /** Void training episodes among those stored since the row before. */
  voidShare: z.number(),
  truncatedShare: z.number(),
  meanSteps: z.number(),
  /** Paid reward of an episode by component: means over the batch. */
  components: z.record(z.string(), z.number()).default({}),
  /** Held-out success, sampled policy: the newest evaluation, or null before the first. */
  heldOutSuccess: z.number().nullable(),
  heldOutByFamily: z.record(z.string(), z.number()),
  heldOutGreedy: z.number().nullable(),
  heldOutGreedyByFamily: z.record(z.string(), z.number()),
  /** Exact KL divergence of the sampling policy from the trained one, over all actions; mean of the last pass. */
  kl: z.number(),
  /** The same estimated from the actions taken: k1 = mean(−log r), k3 = mean(r − 1 − log r); Schulman 2020. */
  klK1: z.number().nullable().default(null),
  klK3: z.number().nullable().default(null),
  /** The KL coefficient used in this update. */
  klCoefficient: z.number(),
  /** Learning rate and entropy coefficient at the end of this update. */
  learningRate: z.number().nullable().default(null),
  entropyCoefficient: z.number().nullable().default(null),
  clipFraction: z.number(),
  entropy: z.number(),
  policyLoss: z.number(),
  valueLoss: z.number(),
  explainedVariance: z.number(),
  gradientNorm: z.number(),
  /** Mean over samples of (policy version now − version that took the step). */
  staleness: z.number(),
  /** The largest of them. */
  stalest: z.int().nonnegative().default(0),
  /** How many of the samples were so many versions old, from 0 on; the last one counts those beyond as well. */
  staleCounts: z.array(z.int().nonnegative()).default([]),
  /** Bytes of samples that waited when the update began, its own batch included. */
  queuedBytes: z.number().nonnegative().default(0),
  /** Left out of batches since the row before, as too old or too many: steps, episodes, and the slot-seconds they took. */
  staleSteps: z.int().nonnegative().default(0),
  staleEpisodes: z.int().nonnegative().default(0),
  staleS: z.number().nonnegative().default(0),
  minibatches: z.int(),
  /** The update ended early because a minibatch's KL passed the limit. */
  stoppedEarly: z.boolean(),
  /** Seconds since the row before: the trainer waited for samples; it updated; held-out episodes were sampled. */
  sampleS: z.number(),
  updateS: z.number(),
  evalS: z.number(),
  /** Of those, evaluation apart, seconds that samplers stood still; slowed down to a half, every second one counts. */
  heldS: z.number().nonnegative().default(0),
});
export type IterationMetrics = Readonly<z.infer<typeof iterationMetricsSchema>>;

/** A knob that was turned: recorded when the trainer has taken it over. */
export const knobChangeSchema = z.object({
  time: z.number(),
  /** Who asked: user@host of a person, or `config`, `schedule`, `guard`. */
  who: z.string(),
  knob: knobNameSchema,
  from: z.number(),
  to: z.number(),
  /** The update and the minibatch of it (from 0) that first used the new value. */
  iteration: z.int().nonnegative(),
  minibatch: z.int().nonnegative(),
  /** It puts back what the newest change by a person, not undone yet, had changed. */
  undo: z.boolean().default(false),
});
export type KnobChange = Readonly<z.infer<typeof knobChangeSchema>>;

export const EVENT_LEVELS = ['info', 'warning', 'error'] as const;

/** Something that happened to the run: a child died, a pause, a checkpoint. */
export const runEventSchema = z.object({
  time: z.number(),
  level: z.enum(EVENT_LEVELS),
  /** Short stable name: `worker-died`, `trainer-died`, `checkpoint`, … */
  kind: z.string(),
  /** What it happened to: `worker 1@local`, `trainer`, … */
  subject: z.string(),
  message: z.string(),
  /** Ids of the episodes that it is about, the most telling first. */
  episodes: z.array(z.string()).default([]),
  /** Where it is about more of them than can be named: a filter that shows them. */
  filter: z.string().optional(),
  /** Who gave the command: user@host. Absent for what nobody asked for. */
  who: z.string().optional(),
});
export type RunEvent = Readonly<z.infer<typeof runEventSchema>>;

/** What comes after a worker's last episode: it rests, is started anew, or leaves the run. */
export const DRAIN_ENDS = ['rest', 'restart', 'leave'] as const;
export type DrainEnd = (typeof DRAIN_ENDS)[number];

/** A worker that gets no new episodes: what comes of it in the end, and how many it still has. */
export const drainSchema = z.object({ end: z.enum(DRAIN_ENDS), left: z.int().nonnegative() });

/** Live state of one child process, as the run process sees it. */
export const childStatusSchema = z.object({
  role: z.enum(['worker', 'trainer']),
  index: z.int().nonnegative(),
  host: z.string(),
  pid: z.int().nullable(),
  state: z.enum(['starting', 'ready', 'restarting', 'dead']),
  restarts: z.int().nonnegative(),
  /** ms since its last sign of life. */
  silentMs: z.number(),
  slots: z.int().nonnegative(),
  busySlots: z.int().nonnegative(),
  rssMiB: z.number(),
  /** Execution provider that its models run on, null before it has said. */
  provider: z.string().nullable().default(null),
  /** Null for the trainer, and before the first report. */
  resources: resourcesSchema.nullable().default(null),
  /** Null for the trainer, and while it is given episodes. */
  drain: drainSchema.nullable().default(null),
});
export type ChildStatus = Readonly<z.infer<typeof childStatusSchema>>;

/** What an update came to, in a preview: clip fraction of the whole, and KL of its last minibatch. */
const previewOutcomeSchema = z.object({ clipFraction: z.number(), kl: z.number() });

/**
 * What knobs would do: the first minibatches of the newest update, computed again from its own start, with the knobs as they
 * are and as they would be.
 */
export const previewSchema = z.object({
  iteration: z.int().positive(),
  minibatches: z.int().positive(),
  samples: z.int().positive(),
  now: previewOutcomeSchema,
  wouldBe: previewOutcomeSchema,
});
export type Preview = Readonly<z.infer<typeof previewSchema>>;

/** What the run directory takes. `fullInS`: until the budget, or the disk, is used up at this rate; null where nobody can say. */
const storeStatusSchema = z.object({
  bytes: z.number(),
  budgetBytes: z.number().nullable(),
  bytesPerHour: z.number().nullable(),
  fullInS: z.number().nullable(),
});
export type StoreStatus = Readonly<z.infer<typeof storeStatusSchema>>;

/** A process of a run that is no child with a role: the run's own, or the text indexer. Null where the platform does not say. */
export const ownProcessSchema = z.object({
  role: z.enum(['run', 'text']),
  pid: z.int().nullable(),
  /** Cores, over the last seconds. */
  cpu: z.number().nonnegative().nullable(),
  rssMiB: z.number().nonnegative().nullable(),
  openFiles: z.int().nonnegative().nullable(),
});
export type OwnProcess = Readonly<z.infer<typeof ownProcessSchema>>;

/** A host of a run's config; `figures` is null where nothing of the run says how it is. */
export const runHostSchema = z.object({
  name: z.string(),
  ssh: z.string().nullable(),
  figures: hostFiguresSchema.nullable(),
});
export type RunHost = Readonly<z.infer<typeof runHostSchema>>;

/** What of the config its speed depends on. */
export const runSetupSchema = z.object({
  overlap: z.boolean(),
  evaluationEvery: z.int().positive(),
  trainerThreads: z.int().positive(),
});
export type RunSetup = Readonly<z.infer<typeof runSetupSchema>>;

/** What a client gets when it asks a live run how it is. */
export const runStatusSchema = z.object({
  id: z.string(),
  name: z.string(),
  state: z.enum(RUN_STATES),
  reason: z.string().nullable(),
  pid: z.int(),
  time: z.number(),
  attempt: z.int().positive(),
  iteration: z.int().nonnegative(),
  policyVersion: z.int().nonnegative(),
  /** What the run is doing just now. */
  activity: z.enum(['starting', 'sampling', 'updating', 'evaluating', 'resting']),
  elapsedS: z.number(),
  /** When it will end by itself, in seconds of running time; null if never. */
  limitS: z.number().nullable(),
  episodes: z.int(),
  envSteps: z.int(),
  /** Over the last few seconds. */
  envStepsPerS: z.number(),
  voidEpisodes: z.int(),
  queuedSteps: z.int(),
  batchSteps: z.int(),
  knobs: knobValuesSchema,
  /** Knobs that their schedule in the config moves; not those that somebody has turned since. */
  scheduled: z.array(knobNameSchema),
  /** What undo would put back, or null. */
  undoable: knobChangeSchema.nullable(),
  children: z.array(childStatusSchema),
  /** How the policy is asked; null before the first report. */
  batching: batchingSchema.nullable().default(null),
  /** Back-pressure on the samplers. */
  pressure: pressureSchema.nullable().default(null),
  /** The oldest in flight, by stage; stages with nothing in flight are left out. */
  stages: z.array(stageAgeSchema).default([]),
  /** Tasks that were tried again in this attempt, with another seed, after a void episode. */
  retried: z.int().nonnegative().default(0),
  /** What has stopped coming through; null while all is well. */
  stall: stallSchema.nullable().default(null),
  /** What became of the time of training episodes of this attempt. */
  waste: wasteSchema.nullable().default(null),
  /** Resets of used slots that were audited in this attempt, and families in which one was seen to leak. */
  audits: z.int().nonnegative().default(0),
  leaks: z.array(leakSchema).default([]),
  store: storeStatusSchema.nullable().default(null),
  /** Alerts whose condition holds. */
  alerts: z.array(alertStatusSchema).default([]),
  /** The run's own processes, and the hosts of its config. */
  own: z.array(ownProcessSchema).default([]),
  hosts: z.array(runHostSchema).default([]),
  setup: runSetupSchema.nullable().default(null),
});
export type RunStatus = Readonly<z.infer<typeof runStatusSchema>>;
