import { z } from 'zod';
import { PROVIDERS } from './provider.ts';

/** How the KL divergence of the sampling policy is told: over all actions, or estimated from those taken. */
export const KL_ESTIMATORS = ['exact', 'k1', 'k3'] as const;
export type KlEstimator = (typeof KL_ESTIMATORS)[number];

/** What is fixed of the trainer for a run; what may change while it goes on is a knob. */
export const trainerOptionsSchema = z.strictObject({
  /** Threads that compute gradients. */
  threads: z.int().min(1).max(256).default(2),
  /** Execution providers, the preferred one first. */
  providers: z.array(z.enum(PROVIDERS)).min(1).default(['cpu']),
  /** Whether a provider that is not there may be passed over for the next one, and at last for the CPU. */
  allowFallback: z.boolean().default(false),
  /** Discount. */
  gamma: z.number().min(0).max(1).default(0.99),
  /** λ of GAE. */
  lambda: z.number().min(0).max(1).default(0.95),
  /** Largest global norm of the gradients. */
  gradientNorm: z.number().positive().default(0.5),
  /** ε of Adam. */
  adamEpsilon: z.number().positive().max(1).default(1e-5),
  /** Over what advantages are shifted and scaled to mean 0 and deviation 1. */
  advantages: z.enum(['batch', 'minibatch', 'none']).default('batch'),
  /** In the value loss, values are clipped to ± this around the old ones (baselines, ppo2); 0 is off. */
  valueClip: z.number().min(0).max(1000).default(0),
  /** Where A < 0 the objective is held above this × A (Ye et al. 2020, equation 5); 0 is off. */
  dualClip: z
    .number()
    .min(0)
    .max(1000)
    .refine((value) => value === 0 || value > 1, 'wanted 0 (off) or more than 1')
    .default(0),
  /** Log-ratios are held within ± this before they are exponentiated. */
  logRatioClamp: z.number().positive().max(50).default(10),
  /** Of weight matrices: uniform of variance gain² / inputs, or orthogonal (Saxe et al. 2014). */
  initialisation: z.enum(['uniform', 'orthogonal']).default('uniform'),
  /** V(s_T) of truncated episodes goes into their returns; false treats them as terminated. */
  bootstrapTruncated: z.boolean().default(true),
  /** Rewards are divided by the deviation of the discounted returns of so many newest episodes; 0 is off. */
  rewardWindow: z.int().min(0).max(10_000).default(0),
  /** What is held against `kl_limit`, `kl_target` and the guard. */
  klEstimator: z.enum(KL_ESTIMATORS).default('exact'),
});
export type TrainerOptions = Readonly<z.infer<typeof trainerOptionsSchema>>;

/** When an update is rolled back. */
export const guardLimitsSchema = z.strictObject({
  /** A minibatch has a KL above this; 0 is off. */
  kl: z.number().min(0).max(100).default(0.5),
  /** The last pass has less than this share of the entropy of the first minibatch; 0 is off. */
  entropy: z.number().min(0).max(1).default(0.2),
});
export type GuardLimits = Readonly<z.infer<typeof guardLimitsSchema>>;
