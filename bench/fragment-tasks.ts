import { z } from 'zod';
import { initialKnobs } from '../src/domain/knob.ts';
import { type FeaturesPolicySpec, policySpecSchema } from '../src/domain/policy-spec.ts';
import { trainerOptionsSchema } from '../src/domain/trainer-options.ts';
import type { FragmentSettings } from './fragment-trainer.ts';

/** The tasks on which PPO on fragments is measured, and with which settings. */

export const CLASSIC_NAMES = ['cartpole', 'acrobot'] as const;
export const classicNameSchema = z.enum(CLASSIC_NAMES);
export type ClassicName = (typeof CLASSIC_NAMES)[number];

/** Numbers in an observation, actions on offer, and the component that a step pays. */
const CLASSIC = {
  cartpole: { features: 4, actions: 2, pays: 'alive' },
  acrobot: { features: 6, actions: 3, pays: 'time' },
} as const satisfies Record<ClassicName, object>;

/** Mean returns of 100 episodes at which the tasks count as solved; the last tenth is what CleanRL's figures are of. */
export const classicGoals = {
  cartpole: { goal: 475, share: 0.1 },
  acrobot: { goal: -100, share: 0.1 },
} as const satisfies Record<ClassicName, object>;

/** What succeeds always is paid 1, less the time of 2 + 4 steps at most. A quarter of the steps holds 300 episodes. */
export const corridorGoal = { goal: 0.85, share: 0.25 } as const;

/** CleanRL's ppo.py on classic control (docs/benchmark/ppo.md of CleanRL): 500,000 steps, 976 updates of 512 samples. */
export function classicSettings(env: ClassicName, seed: number): FragmentSettings {
  const { features, actions, pays } = CLASSIC[env];
  return {
    env,
    seed,
    policy: featuresPolicy({ features, hidden: 64, argumentSlots: { input: actions } }),
    rewards: { [pays]: { weight: 1, cap: null } },
    trainer: trainerOptionsSchema.parse({
      threads: 1,
      gamma: 0.99,
      lambda: 0.95,
      gradientNorm: 0.5,
      adamEpsilon: 1e-5,
      advantages: 'minibatch',
      valueClip: 0.2,
      initialisation: 'orthogonal',
    }),
    // A KL penalty is no part of CleanRL's loss: the least that the knob allows weighs nothing.
    knobs: {
      ...initialKnobs(),
      clip: 0.2,
      kl: 0.0001,
      kl_target: 0,
      kl_limit: 0,
      entropy: 0.01,
      lr: 2.5e-4,
      value: 0.5,
      epochs: 4,
      minibatch: 128,
    },
    anneal: true,
    environments: 4,
    fragment: 128,
    totalSteps: 500_000,
    maxSteps: 500,
  };
}

/** The corridor, the way to whose end is told only at the beginning, with a small policy of one network or the other. */
export function corridorSettings(
  network: FeaturesPolicySpec['network'],
  window: number,
  seed: number,
): FragmentSettings {
  return {
    env: 'corridor',
    seed,
    policy: featuresPolicy({ features: 3, hidden: 16, network, window, argumentSlots: { input: 2 } }),
    rewards: {
      success: { weight: 1, cap: null },
      wrong_end: { weight: 1, cap: null },
      time: { weight: 0.02, cap: null },
    },
    trainer: trainerOptionsSchema.parse({ threads: 1, initialisation: 'orthogonal' }),
    knobs: {
      ...initialKnobs(),
      kl: 0.0001,
      kl_target: 0,
      kl_limit: 0,
      lr: 0.003,
      epochs: 4,
      minibatch: 256,
    },
    anneal: true,
    environments: 32,
    fragment: 32,
    totalSteps: 16_000,
    maxSteps: 30,
  };
}

function featuresPolicy(given: object): FeaturesPolicySpec {
  const spec = policySpecSchema.parse({ kind: 'features', ...given });
  if (spec.kind !== 'features') throw new Error(`got a policy of kind ${spec.kind}`);
  return spec;
}
