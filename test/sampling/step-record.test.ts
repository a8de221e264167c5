import { expect, test } from 'vitest';
import type { EnvironmentDefinition } from '../../envs/contract.ts';
import { stateHash } from '../../envs/state-hash.ts';
import { workbench } from '../../envs/workbench/definition.ts';
import { type EpisodeBody, episodeBodySchema } from '../../src/domain/episode.ts';
import { environmentSeed } from '../../src/domain/episode-seed.ts';
import { episodeId } from '../../src/domain/id.ts';
import { actionLayout, policySpecSchema } from '../../src/domain/policy-spec.ts';
import type { RecordRule } from '../../src/domain/recording.ts';
import { InferenceBatch } from '../../src/sampling/inference-batch.ts';
import { Likeliest } from '../../src/sampling/likeliest.ts';
import { createRandomActor } from '../../src/sampling/random-actor.ts';
import { Slot } from '../../src/sampling/slot.ts';
import { settingsOf } from '../support/worker-settings.ts';

const policy = policySpecSchema.parse({});
const layout = actionLayout(policy);
const REF = { env: 'workbench', family: 'ordered', split: 'train', index: 3 } as const;

/** Of an episode of random actions in which a tool runs, and its length. */
const [SEED, STEPS] = [48, 9];

/** The body of one episode of random actions. */
async function record(
  rule: RecordRule,
  phase: 'train' | 'eval',
  definition: EnvironmentDefinition = workbench,
): Promise<EpisodeBody> {
  const bodies: Uint8Array[] = [];
  const waiting: (() => void)[] = [];
  const slot = new Slot(
    {
      settings: settingsOf({ env: { name: 'workbench', options: {} }, policy, maxSteps: 12, record: rule }),
      definition,
      layout,
      lifeline: { begin: () => undefined, end: () => undefined },
      stepPace: { ms: 0 },
      onFinished: (_slot, { body }) => {
        bodies.push(body);
        for (const each of waiting) each();
      },
      onReady: () => {
        for (const each of waiting.splice(0)) each();
      },
    },
    0,
  );
  const batch = new InferenceBatch(policy, layout, 1, new Likeliest(rule.likeliest, layout));
  slot.begin({ id: episodeId(1), task: REF, seed: SEED, phase, mode: 'sampled', iteration: 1, attempt: 1 });
  while (bodies.length === 0) {
    await batch.run([slot], createRandomActor(layout), 1);
    if (slot.state === 'busy') await new Promise<void>((resolve) => waiting.push(resolve));
  }
  return episodeBodySchema.parse(JSON.parse(Buffer.from(bodies[0] ?? new Uint8Array()).toString('utf8')));
}

test('a step holds the likeliest actions, as many as asked for', async () => {
  const { steps, candidateSets } = await record({ likeliest: 2, states: 'none' }, 'train');
  expect(steps).toHaveLength(STEPS);
  for (const { likeliest = [], candidates } of steps) {
    expect(likeliest).toHaveLength(2);
    for (const [which] of likeliest)
      expect(which).toBeLessThan(Math.max(1, candidateSets[candidates]?.length ?? 0));
  }
  const none = await record({ likeliest: 0, states: 'none' }, 'train');
  expect(none.steps.some(({ likeliest }) => likeliest !== undefined)).toBe(false);
});

test('states are hashed in the episodes that the rule names, and are those after the steps', async () => {
  const hashes = async (states: RecordRule['states'], phase: 'train' | 'eval'): Promise<unknown[]> =>
    (await record({ likeliest: 0, states }, phase)).steps.map(({ state }) => state);
  const body = await record({ likeliest: 0, states: 'all' }, 'train');
  const environment = workbench.create({});
  await environment.reset(workbench.createTask(REF), environmentSeed(SEED));
  for (const { action, state } of body.steps) {
    await environment.step(action);
    expect(state).toBe(stateHash(environment));
  }
  expect(await hashes('eval', 'eval')).toEqual(await hashes('all', 'train'));
  expect(new Set(await hashes('eval', 'train'))).toEqual(new Set([undefined]));
  expect(new Set(await hashes('none', 'eval'))).toEqual(new Set([undefined]));
});

test('a state that cannot be read costs no episode, and has no hash', async () => {
  const broken: EnvironmentDefinition = {
    ...workbench,
    create: (options) => {
      const inner = workbench.create(options);
      return {
        reset: (task, seed) => inner.reset(task, seed),
        step: (action) => inner.step(action),
        fullReset: () => inner.fullReset(),
        close: () => inner.close(),
        getState: () => {
          throw new Error('no');
        },
      };
    },
  };
  const { steps } = await record({ likeliest: 0, states: 'all' }, 'train', broken);
  expect(steps.map(({ state }) => state)).toEqual(steps.map(() => undefined));
  expect(stateHash({ getState: () => ({ b: 1, a: [2] }) })).toBe(
    stateHash({ getState: () => ({ a: [2], b: 1 }) }),
  );
  expect(stateHash({ getState: () => 1n })).toBeUndefined();
});

test('how long an answer took that came later, and the tool that ran, are kept', async () => {
  const later: EnvironmentDefinition = {
    ...workbench,
    create: () => workbench.create({ latencyMs: 3 }),
  };
  const { steps } = await record({ likeliest: 0, states: 'none' }, 'train', later);
  expect(steps.every(({ ms }) => ms !== undefined && ms >= 1)).toBe(true);
  const atOnce = await record({ likeliest: 0, states: 'none' }, 'train');
  expect(atOnce.steps.every(({ ms }) => ms === undefined)).toBe(true);
  const used = atOnce.steps.flatMap(({ tool }) => (tool === undefined ? [] : [tool]));
  expect(used).toEqual([{ name: expect.any(String), ok: expect.any(Boolean) }]);
});
