import type { Config } from '../config/schema.ts';
import type { RunManifest, RunStatus } from '../domain/run.ts';

/** The part of a status that says which run, and which process, is talking. */
export function identity(
  manifest: RunManifest,
): Pick<RunStatus, 'id' | 'name' | 'state' | 'reason' | 'attempt' | 'pid' | 'time'> {
  const { id, name, state, reason, attempt } = manifest;
  return { id, name, state, reason, attempt, pid: process.pid, time: Date.now() };
}

/** The part of a status that the config says: where it ends the run and its batches, and what its speed depends on. */
export function limits(config: Config): Pick<RunStatus, 'limitS' | 'batchSteps' | 'setup'> {
  const { stop, sampling, evaluation, trainer } = config;
  return {
    limitS: stop.minutes === null ? null : stop.minutes * 60,
    batchSteps: sampling.batchSteps,
    setup: {
      overlap: sampling.overlap,
      evaluationEvery: evaluation.every,
      trainerThreads: trainer.threads,
    },
  };
}
