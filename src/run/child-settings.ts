import type { Config } from '../config/schema.ts';
import { LabError } from '../domain/error.ts';
import type { HostSpec } from '../domain/host.ts';
import { deriveSeed } from '../domain/random.ts';
import type { TrainerSettings } from '../protocol/trainer.ts';
import type { WorkerSettings } from '../protocol/worker.ts';

/** What the config means for every worker, whatever its number and host. */
export function workerSettings(config: Config): Omit<WorkerSettings, 'worker' | 'host' | 'slots'> {
  const { sampling, env, policy, rewards } = config;
  return {
    env,
    policy,
    rewards,
    slice: sampling.slice,
    inferenceThreads: sampling.inferenceThreads,
    maxSteps: sampling.maxSteps,
    stepTimeoutMs: sampling.stepTimeoutMs,
    episodeTimeoutMs: sampling.episodeTimeoutMs,
    unackedBytes: sampling.unackedMiB * 2 ** 20,
  };
}

/** What the config means for the trainer. */
export function trainerSettings(config: Config): TrainerSettings {
  return { ...config.trainer, seed: deriveSeed(config.seed, 'trainer'), policy: config.policy };
}

/** The host that trains; the config's check makes sure that there is one. */
export function trainerHost(config: Config): HostSpec {
  const host = config.hosts.find(({ roles }) => roles.includes('trainer'));
  if (host === undefined) throw new LabError('config-invalid', { message: 'no host has the role "trainer"' });
  return host;
}
