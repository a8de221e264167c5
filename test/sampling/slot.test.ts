import { expect, test } from 'vitest';
import { cartpole } from '../../envs/classic/definitions.ts';
import type { EnvironmentDefinition } from '../../envs/contract.ts';
import { episodeId } from '../../src/domain/id.ts';
import { actionLayout, policySpecSchema } from '../../src/domain/policy-spec.ts';
import type { FinishedEpisode } from '../../src/sampling/finished-episode.ts';
import { Slot } from '../../src/sampling/slot.ts';
import { settingsOf } from '../support/worker-settings.ts';

const policy = policySpecSchema.parse({ kind: 'features', features: 4, argumentSlots: { input: 2 } });
const layout = actionLayout(policy);

/** One episode of CartPole under a controller that holds the pole, and what the slot made of it. */
function balance(definition: EnvironmentDefinition, maxSteps: number): FinishedEpisode {
  const finished: FinishedEpisode[] = [];
  const slot = new Slot(
    {
      settings: settingsOf({
        env: { name: 'cartpole', options: {} },
        policy,
        rewards: { alive: { weight: 1, cap: null } },
        maxSteps,
        stepTimeoutMs: 10_000,
        episodeTimeoutMs: 100_000,
      }),
      definition,
      layout,
      lifeline: { begin: () => undefined, end: () => undefined },
      stepPace: { ms: 0 },
      onFinished: (_slot, episode) => finished.push(episode),
      onReady: () => undefined,
    },
    0,
  );
  const task = { env: 'cartpole', family: 'balance', split: 'held_out', index: 3 } as const;
  slot.begin({ id: episodeId(1), task, seed: 1, phase: 'train', mode: 'sampled', iteration: 1, attempt: 1 });
  while (slot.state === 'ready') {
    const [position = 0, velocity = 0, angle = 0, spin = 0] = slot.observation.features ?? [];
    const push = position + 2 * velocity + 20 * angle + 4 * spin > 0 ? 1 : 0;
    const decision = { probability: 1, value: 0, entropy: 0, policyVersion: 1 };
    slot.act(
      { ...decision, action: { type: 'input', argument: push === 1 ? 'right' : 'left' } },
      {
        row: 0,
        observations: { features: new Float32Array(4), mask: new Float32Array(layout.size) },
        logProbabilities: new Float32Array(layout.size),
        action: push,
        value: 0,
        policyVersion: 1,
      },
    );
  }
  if (slot.state === 'closing') slot.bootstrap(12);
  const [episode] = finished;
  if (episode === undefined) throw new Error('the episode did not end');
  return episode;
}

test('where the task is to last, the step limit is success, and still a truncation that is bootstrapped', () => {
  const { summary, bootstrapValue } = balance(cartpole, 500);
  expect(summary).toMatchObject({
    steps: 500,
    terminated: false,
    truncated: true,
    success: true,
    failure: null,
    reward: 500,
  });
  expect(bootstrapValue).toBe(12);
});

test('a limit below the catalog’s is none, and so is that of an environment whose task is not to last', () => {
  const failure = { success: false, truncated: true, failure: 'max_steps' };
  expect(balance(cartpole, 300).summary).toMatchObject({ ...failure, steps: 300 });
  const { lasting: _, ...catalog } = cartpole.catalog;
  expect(balance({ ...cartpole, catalog }, 500).summary).toMatchObject(failure);
});
