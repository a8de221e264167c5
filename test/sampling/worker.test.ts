import { expect, test, vi } from 'vitest';
import type { EnvironmentDefinition } from '../../envs/contract.ts';
import { workbench } from '../../envs/workbench/definition.ts';
import { DEFAULT_REWARDS } from '../../src/domain/default-rewards.ts';
import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { episodeId } from '../../src/domain/id.ts';
import { policySpecSchema } from '../../src/domain/policy-spec.ts';
import { deriveSeed } from '../../src/domain/random.ts';
import { SamplingWorker } from '../../src/sampling/worker.ts';
import { initialWeights } from '../../trainer/policy/parameters.ts';

const policy = policySpecSchema.parse({ vocabulary: 256, embedding: 8, hidden: 8 });
const SLOTS = 9;

/** Has a worker sample so many episodes, and gives their summaries and its last report. */
async function sample(
  definition: EnvironmentDefinition,
  options: Record<string, unknown>,
  episodes: number,
  pace = 1,
) {
  const summaries: EpisodeSummary[] = [];
  let dispatched = 0;
  const worker: SamplingWorker = await SamplingWorker.create({
    settings: {
      worker: 0,
      host: 'local',
      env: { name: 'workbench', options },
      slots: SLOTS,
      slice: 4,
      inferenceThreads: 1,
      providers: ['cpu'],
      allowFallback: false,
      policy,
      rewards: DEFAULT_REWARDS,
      maxSteps: 5,
      stepTimeoutMs: 60_000,
      episodeTimeoutMs: 60_000,
      unackedBytes: 1 << 20,
    },
    definition,
    lifeline: { begin: () => undefined, end: () => undefined },
    send: (message) => {
      if (message.type === 'claim') setImmediate(dispatch, message.count);
      if (message.type !== 'episode') return;
      summaries.push(message.summary);
      worker.ack(message.bytes);
    },
  });
  function dispatch(count: number): void {
    const wanted = Math.min(count, episodes - dispatched);
    worker.dispatch(
      Array.from({ length: wanted }, () => ({
        id: episodeId(++dispatched),
        task: { env: 'workbench', family: 'ordered', split: 'train' as const, index: dispatched },
        seed: deriveSeed('worker', dispatched),
        phase: 'train' as const,
        mode: 'sampled' as const,
        iteration: 1,
        attempt: 1,
      })),
    );
  }
  worker.load(initialWeights(policy, 1), 3);
  worker.setPace(pace);
  worker.go();
  await vi.waitUntil(() => summaries.length >= episodes, { timeout: 20_000 });
  const report = worker.report();
  await worker.stop();
  return { summaries, report };
}

for (const latencyMs of [0, 2]) {
  test(`every episode comes back once, and every slot is free again, with ${latencyMs} ms a step`, async () => {
    const { summaries, report } = await sample(workbench, { latencyMs }, 60);
    expect(new Set(summaries.map(({ id }) => id)).size).toBe(60);
    expect(summaries.every(({ trust, policyVersion }) => trust === 'valid' && policyVersion === 3)).toBe(
      true,
    );
    expect(new Set(summaries.map(({ slot }) => slot)).size).toBeGreaterThan(SLOTS / 2);
    expect(report.busySlots).toBe(0);
    // Some are truncated: their last observation is looked at once more, and that is no step.
    expect(summaries.some(({ truncated }) => truncated)).toBe(true);
    expect(report.steps).toBe(summaries.reduce((sum, { steps }) => sum + steps, 0));
  });
}

test('an environment that fails at every reset, at once or later, does not stop the others', async () => {
  let resets = 0;
  const failing: EnvironmentDefinition = {
    ...workbench,
    create: (options) => {
      const environment = workbench.create(options);
      return {
        reset: (task, seed) => {
          resets++;
          if (resets % 3 === 0) throw new Error('no reset');
          if (resets % 3 === 1) return Promise.reject(new Error('no reset, later'));
          return environment.reset(task, seed);
        },
        step: (action) => environment.step(action),
        getState: () => environment.getState(),
        fullReset: () => environment.fullReset(),
        close: () => environment.close(),
      };
    },
  };
  const { summaries, report } = await sample(failing, {}, 60);
  expect(summaries.filter(({ failure }) => failure === 'env_crash')).toHaveLength(40);
  expect(summaries.filter(({ trust }) => trust === 'valid')).toHaveLength(20);
  expect(report.busySlots).toBe(0);
});

test('at a tenth of its pace a worker rests for most of the time, and episodes are not charged with it', async () => {
  const { summaries, report } = await sample(workbench, {}, 40, 0.1);
  const { encodeMs, inferenceMs, stepMs, recordMs, idleMs } = report;
  expect(idleMs).toBeGreaterThan(3 * (encodeMs + inferenceMs + stepMs + recordMs));
  expect(summaries.reduce((sum, { wallMs }) => sum + wallMs, 0) / SLOTS).toBeLessThan(idleMs);
});
