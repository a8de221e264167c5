import type { Config } from '../config/schema.ts';
import { LabError } from '../domain/error.ts';
import type { HostSpec } from '../domain/host.ts';
import { deriveSeed } from '../domain/random.ts';
import type { KnobChange } from '../domain/run.ts';
import type { TrainerSettings } from '../protocol/trainer.ts';
import type { WorkerSettings } from '../protocol/worker.ts';
import { knobsAtStart } from './knob-keeper.ts';
import type { TrainerLinkOptions } from './trainer-link.ts';
import type { WorkerPoolOptions } from './worker-pool.ts';

/** What the config means for every worker, whatever its number and host. */
export function workerSettings(config: Config): Omit<WorkerSettings, 'worker' | 'host' | 'slots'> {
  const { sampling, env, policy, rewards, supervision } = config;
  return {
    env,
    policy,
    rewards,
    slice: sampling.slice,
    batch: sampling.batch,
    reuseSlots: sampling.reuseSlots,
    inferenceThreads: sampling.inferenceThreads,
    providers: sampling.providers,
    allowFallback: sampling.allowFallback,
    maxSteps: sampling.maxSteps,
    stepTimeoutMs: sampling.stepTimeoutMs,
    episodeTimeoutMs: sampling.episodeTimeoutMs,
    unackedBytes: sampling.unackedMiB * 2 ** 20,
    limits: {
      memoryMiB: supervision.workerMemoryMiB,
      hostWorkers: 1,
      slotTempBytes: supervision.slotTempMiB * 2 ** 20,
      openFiles: supervision.workerOpenFiles,
    },
    audit: sampling.audit,
    record: sampling.record,
  };
}

/** What the config means for the trainer. */
export function trainerSettings(config: Config): TrainerSettings {
  const { kl, entropy } = config.guard;
  return {
    ...config.trainer,
    seed: deriveSeed(config.seed, 'trainer'),
    policy: config.policy,
    guard: { kl, entropy },
  };
}

/** The host that trains; the config's check makes sure that there is one. */
function trainerHost(config: Config): HostSpec {
  const host = config.hosts.find(({ roles }) => roles.includes('trainer'));
  if (host === undefined) throw new LabError('config-invalid', { message: 'no host has the role "trainer"' });
  return host;
}

/** What the config says of the workers. */
export function workerOptions(
  config: Config,
): Pick<WorkerPoolOptions, 'hosts' | 'slots' | 'restart' | 'settings'> {
  const hosts = config.hosts.filter(({ roles }) => roles.includes('worker'));
  const workers = hosts.reduce((sum, host) => sum + host.workers, 0);
  // Where several run, or one while the trainer updates, what is sampled depends on the clock anyway.
  const lockstep = workers === 1 && !config.sampling.overlap;
  return {
    hosts,
    slots: config.sampling.slots,
    restart: config.supervision,
    settings: { ...workerSettings(config), lockstep },
  };
}

/** What the config says of the trainer, and the changes of knobs so far for one without a checkpoint. */
export function trainerOptions(
  config: Config,
  knobChanges: readonly KnobChange[],
): Pick<TrainerLinkOptions, 'host' | 'restart' | 'settings' | 'knobs'> {
  return {
    host: trainerHost(config),
    restart: config.supervision,
    settings: trainerSettings(config),
    knobs: knobsAtStart(config, knobChanges),
  };
}
