import { z } from 'zod';
import { alertRuleSchema } from '../domain/alert.ts';
import { DEFAULT_REWARDS } from '../domain/default-rewards.ts';
import { hostSpecSchema } from '../domain/host.ts';
import { KNOB_NAMES, KNOBS, type KnobKind, type KnobName } from '../domain/knob.ts';
import { auditRuleSchema } from '../domain/leak.ts';
import { nearest } from '../domain/nearest.ts';
import { policySpecSchema } from '../domain/policy-spec.ts';
import { PROVIDERS } from '../domain/provider.ts';
import { recordRuleSchema } from '../domain/recording.ts';
import { type RewardRule, type RewardRules, rewardRuleSchema } from '../domain/reward.ts';
import { scheduleSchema } from '../domain/schedule.ts';
import { MOST_SLOTS } from '../domain/slot-limit.ts';
import { keysOf, recordOf } from '../domain/table.ts';
import { guardLimitsSchema, trainerOptionsSchema } from '../domain/trainer-options.ts';

/** Most observations in one inference call, where the config is silent: more gains nothing and costs latency. */
const DEFAULT_SLICE = 256;

const DAY_MS = 86_400_000;

function knobSchema(name: KnobName): z.ZodDefault<z.ZodNumber> {
  const knob: KnobKind = KNOBS[name];
  const number = knob.integer ? z.int() : z.number();
  return number.min(knob.minimum).max(knob.maximum).default(knob.initial);
}

const samplingSchema = z
  .strictObject({
    slots: z.int().min(1).max(MOST_SLOTS).default(256),
    slice: z.int().min(1).max(4096).optional(),
    batch: z
      .strictObject({
        minRows: z.int().min(1).max(4096).default(1),
        minWindowMs: z.number().min(0).max(10_000).default(0),
        maxWindowMs: z.number().min(0).max(10_000).default(20),
      })
      .prefault({}),
    reuseSlots: z.boolean().default(true),
    inferenceThreads: z.int().min(1).max(256).default(1),
    batchSteps: z.int().min(1).max(10_000_000).default(8192),
    maxSteps: z.int().min(1).max(1_000_000).default(30),
    stepTimeoutMs: z.int().min(10).max(DAY_MS).default(10_000),
    episodeTimeoutMs: z.int().min(10).max(DAY_MS).default(120_000),
    unackedMiB: z.int().min(1).max(65_536).default(64),
    queueMiB: z.int().min(1).max(1_048_576).default(512),
    ahead: z.number().min(1).max(1000).default(1.1),
    softShare: z.number().positive().max(1).default(0.8),
    overlap: z.boolean().default(true),
    maxStaleness: z.int().min(0).max(1_000_000).default(8),
    providers: z.array(z.enum(PROVIDERS)).min(1).default(['cpu']),
    allowFallback: z.boolean().default(false),
    audit: auditRuleSchema.prefault({}),
    record: recordRuleSchema.prefault({}),
  })
  .transform(({ slots, slice = Math.min(DEFAULT_SLICE, slots), ...rest }) => ({ slots, slice, ...rest }));

const rewardsSchema = z
  .record(
    z.string().regex(/^[a-z][a-z0-9_]{0,63}$/u, 'lower-case letters, digits and "_"'),
    rewardRuleSchema.partial(),
  )
  .transform((given, context): RewardRules => {
    const rules: Record<string, RewardRule> = { ...DEFAULT_REWARDS };
    for (const [name, { weight, cap }] of Object.entries(given)) {
      const base = rules[name];
      if (base === undefined && (weight === undefined || nearest(name, keysOf(DEFAULT_REWARDS)) !== null)) {
        const message = unknownReward(name);
        context.addIssue({ code: 'custom', path: [name], message, input: given[name] });
        continue;
      }
      rules[name] = {
        weight: weight ?? base?.weight ?? 0,
        cap: cap === undefined ? (base?.cap ?? null) : cap,
      };
    }
    return rules;
  });

function unknownReward(name: string): string {
  const like = nearest(name, keysOf(DEFAULT_REWARDS));
  if (like !== null) return `is not a reward component; did you mean "${like}"?`;
  return `is not one of ${keysOf(DEFAULT_REWARDS).join(', ')}; a component of your own needs a weight`;
}

const scheduleTableSchema = z
  .partialRecord(z.enum(KNOB_NAMES), scheduleSchema)
  .superRefine((schedules, context) => {
    for (const name of keysOf(schedules)) {
      const points = schedules[name]?.points ?? [];
      for (const [index, [when, value]] of points.entries()) {
        const { minimum, maximum }: KnobKind = KNOBS[name];
        const path = [name, 'points', index];
        if (value < minimum || value > maximum) {
          const message = `${value} is out of range: ${name} takes ${minimum} to ${maximum}`;
          context.addIssue({ code: 'custom', path, message, input: value });
        }
        const earlier = points[index - 1]?.[0] ?? -1;
        if (when <= earlier) {
          const message = `is at ${when}, not after the point before it, ${earlier}`;
          context.addIssue({ code: 'custom', path, message, input: when });
        }
      }
    }
  });

/** The whole config. Every key has a default that works; unknown keys are refused. docs/CONFIG.md explains each. */
export const configSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/u, 'letters, digits, "-" and "_", 40 at most')
    .default('demo'),
  seed: z.int().min(0).max(4_294_967_295).default(1),
  env: z
    .strictObject({
      name: z.string().min(1).default('workbench'),
      options: z.record(z.string(), z.unknown()).default({}),
    })
    .prefault({}),
  policy: policySpecSchema.prefault({}),
  rewards: rewardsSchema.prefault({}),
  sampling: samplingSchema.prefault({}),
  trainer: trainerOptionsSchema.prefault({}),
  knobs: z.strictObject(recordOf(KNOB_NAMES, knobSchema)).prefault({}),
  schedule: scheduleTableSchema.prefault({}),
  guard: guardLimitsSchema
    .extend({
      /** What follows when an update was rolled back. */
      action: z.enum(['continue', 'pause', 'ease']).default('continue'),
      /** By what knobs are multiplied to ease them. */
      ease: z.partialRecord(z.enum(KNOB_NAMES), z.number().positive().max(10)).default({ lr: 0.5 }),
    })
    .prefault({}),
  curriculum: z
    .strictObject({ floor: z.number().min(0).max(1).default(0.25), adapt: z.boolean().default(true) })
    .prefault({}),
  evaluation: z
    .strictObject({
      every: z.int().min(1).default(8),
      episodes: z.int().min(0).max(1_000_000).default(200),
    })
    .prefault({}),
  checkpoint: z
    .strictObject({
      every: z.int().min(1).default(20),
      keep: z.int().min(1).max(1000).default(3),
      policies: z.int().min(0).max(10_000).default(20),
    })
    .prefault({}),
  store: z
    .strictObject({
      textIndex: z.boolean().default(true),
      budgetGiB: z.number().positive().max(1_000_000).nullable().default(null),
      keepSample: z.number().min(0).max(1).default(0.05),
    })
    .prefault({}),
  supervision: z
    .strictObject({
      maxRestarts: z.int().min(0).max(1000).default(5),
      backoffMs: z.int().min(1).max(DAY_MS).default(200),
      heartbeatMs: z.int().min(100).max(DAY_MS).default(5000),
      voidShare: z.number().positive().max(1).default(0.5),
      voidWindow: z.int().min(1).max(1_000_000).default(200),
      retries: z.int().min(0).max(100).default(1),
      nice: z.int().min(0).max(19).default(5),
      workerMemoryMiB: z.int().min(64).max(16_777_216).nullable().default(null),
      workerOpenFiles: z.int().min(64).max(10_000_000).default(4096),
      slotTempMiB: z.int().min(1).max(16_777_216).default(1024),
    })
    .prefault({}),
  alerts: z.array(alertRuleSchema).max(100).default([]),
  stop: z
    .strictObject({
      minutes: z.number().positive().nullable().default(10),
      iterations: z.int().positive().nullable().default(null),
    })
    .prefault({}),
  hosts: z
    .array(hostSpecSchema)
    .min(1)
    .prefault([{ name: 'local', workers: 2 }]),
});

/** A complete config: nothing is left to a default. Times in ms, sizes in MiB where the name says so. */
export type Config = Readonly<z.output<typeof configSchema>>;
