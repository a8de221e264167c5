import { expect, it } from 'vitest';
import type { EnvironmentDefinition } from '../../envs/contract.ts';
import { episodeId } from '../../src/domain/id.ts';
import { actionLayout, policySpecSchema } from '../../src/domain/policy-spec.ts';
import type { Observation } from '../../src/domain/space.ts';
import type { FinishedEpisode } from '../../src/sampling/finished-episode.ts';
import { InferenceBatch } from '../../src/sampling/inference-batch.ts';
import { Slot } from '../../src/sampling/slot.ts';
import type { Policy } from '../../trainer/policy/inference.ts';
import { settingsOf } from '../support/worker-settings.ts';

const spec = policySpecSchema.parse({ kind: 'features', features: 2, argumentSlots: { input: 2 } });
const layout = actionLayout(spec);

/** Slots with an episode each, whose observations have so many features; and the episodes that ended. */
function begin(features: readonly number[]) {
  const finished: FinishedEpisode[] = [];
  const slots = features.map((count, index) => {
    const observation: Observation = {
      lines: [],
      features: Array.from({ length: count }, () => 0.5),
      legal: ['input'],
      candidates: [
        { type: 'input', text: 'left', kind: 'push' },
        { type: 'input', text: 'right', kind: 'push' },
      ],
    };
    const definition: EnvironmentDefinition = {
      catalog: { env: 'test', version: '1', maxSteps: 9, families: [{ name: 'test', train: 9, heldOut: 0 }] },
      createTask: (ref) => ({ ...ref, seed: 0, difficulty: 0, text: 'go', params: {} }),
      create: () => ({
        reset: () => observation,
        step: () => ({
          observation,
          components: {},
          terminated: false,
          success: false,
          failure: null,
          effective: true,
        }),
        getState: () => null,
        fullReset: () => undefined,
        close: () => undefined,
      }),
    };
    const slot = new Slot(
      {
        settings: settingsOf({
          env: { name: 'test', options: {} },
          slots: 2,
          slice: 2,
          policy: spec,
          maxSteps: 9,
        }),
        definition,
        layout,
        lifeline: { begin: () => undefined, end: () => undefined },
        stepPace: { ms: 0 },
        onFinished: (_slot, episode) => finished.push(episode),
        onReady: () => undefined,
      },
      index,
    );
    const task = { env: 'test', family: 'test', split: 'train', index } as const;
    const id = episodeId(index + 1);
    slot.begin({ id, task, seed: 1, phase: 'train', mode: 'sampled', iteration: 1, attempt: 1 });
    return slot;
  });
  return { slots, finished };
}

/** A policy to which all actions are alike, and for how many rows it was asked. */
function indifferent() {
  const asked: number[] = [];
  const policy: Policy = {
    provider: 'cpu',
    fellBackFrom: [],
    load: () => undefined,
    run: async (rows) => {
      asked.push(rows);
      const logProbabilities = new Float32Array(rows * layout.size).fill(Math.log(0.5));
      return await Promise.resolve({ logProbabilities, values: new Float32Array(rows) });
    },
    close: async () => await Promise.resolve(),
  };
  return { policy, asked };
}

it('an observation that cannot be encoded fails its own slot, and the others act', async () => {
  const { slots, finished } = begin([3, 2]);
  const { policy, asked } = indifferent();
  const times = await new InferenceBatch(spec, layout, 4).run(slots, policy, 1);
  expect(asked).toEqual([1]);
  expect(times.steps).toBe(1);
  expect(finished.map(({ summary }) => summary)).toMatchObject([{ slot: 0, failure: 'env_crash' }]);
  expect(slots[1]?.episode?.steps).toBe(1);
});

it('where none can be encoded the policy is not asked about nothing', async () => {
  const { slots, finished } = begin([3, 1]);
  const { policy, asked } = indifferent();
  const times = await new InferenceBatch(spec, layout, 4).run(slots, policy, 1);
  expect(asked).toEqual([]);
  expect(times).toMatchObject({ steps: 0, inferenceMs: 0, stepMs: 0 });
  expect(finished.map(({ summary }) => summary.slot)).toEqual([0, 1]);
});
