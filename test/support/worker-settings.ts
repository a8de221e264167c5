import type { WorkerSettings } from '../../src/protocol/worker.ts';

/** Settings of a worker with one slot, on this machine's CPU: a test says what matters to it, the environment and policy first. */
export function settingsOf(
  change: Partial<WorkerSettings> & Pick<WorkerSettings, 'env' | 'policy' | 'maxSteps'>,
): WorkerSettings {
  return {
    worker: 0,
    host: 'local',
    slots: 1,
    slice: 1,
    inferenceThreads: 1,
    providers: ['cpu'],
    allowFallback: false,
    rewards: {},
    stepTimeoutMs: 1000,
    episodeTimeoutMs: 2500,
    unackedBytes: 1,
    ...change,
  };
}
