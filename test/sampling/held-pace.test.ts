import { expect, test, vi } from 'vitest';
import type { EnvironmentDefinition } from '../../envs/contract.ts';
import { workbench } from '../../envs/workbench/definition.ts';
import { DEFAULT_REWARDS } from '../../src/domain/default-rewards.ts';
import type { EpisodeSummary } from '../../src/domain/episode.ts';
import { episodeId } from '../../src/domain/id.ts';
import { policySpecSchema } from '../../src/domain/policy-spec.ts';
import { SamplingWorker } from '../../src/sampling/worker.ts';
import { settingsOf } from '../support/worker-settings.ts';

/** Every step takes 2 ms, so that the least wall-clock of an episode is known. */
const STEP_MS = 2;
const slow: EnvironmentDefinition = {
  ...workbench,
  create: (options) => {
    const inner = workbench.create(options);
    return {
      reset: (task, seed) => inner.reset(task, seed),
      step: (action) => {
        const until = performance.now() + STEP_MS;
        while (performance.now() < until);
        return inner.step(action);
      },
      getState: () => inner.getState(),
      fullReset: () => inner.fullReset(),
      close: () => inner.close(),
    };
  },
};

test('an episode has at least the time of its steps, though its worker is slowed down and held in the middle of calls', async () => {
  const summaries: EpisodeSummary[] = [];
  let dispatched = 0;
  const worker = await SamplingWorker.create({
    settings: settingsOf({
      env: { name: 'workbench', options: {} },
      slots: 8,
      slice: 4,
      policy: policySpecSchema.parse({}),
      actor: 'random',
      rewards: DEFAULT_REWARDS,
      maxSteps: 12,
      stepTimeoutMs: 60_000,
      episodeTimeoutMs: 60_000,
      unackedBytes: 1 << 20,
    }),
    definition: slow,
    lifeline: { begin: () => undefined, end: () => undefined },
    send: (message) => {
      if (message.type === 'claim') setImmediate(dispatch, message.count);
      if (message.type !== 'episode') return;
      summaries.push(message.summary);
      worker.ack(message.bytes);
      // Episodes are sent while the call is under way.
      worker.hold();
      setTimeout(() => worker.go(), 40);
    },
  });
  function dispatch(count: number): void {
    worker.dispatch(
      Array.from({ length: count }, () => ({
        id: episodeId(++dispatched),
        task: { env: 'workbench', family: 'ordered', split: 'train' as const, index: dispatched },
        seed: dispatched,
        phase: 'train' as const,
        mode: 'sampled' as const,
        iteration: 1,
        attempt: 1,
      })),
    );
  }
  worker.go();
  worker.setPace(0.2);
  await vi.waitUntil(() => summaries.length >= 40, { timeout: 55_000 });
  await worker.stop();
  for (const { steps, wallMs } of summaries)
    expect(wallMs).toBeGreaterThanOrEqual(Math.floor((steps - 1) * STEP_MS));
}, 60_000);
