import { expect, test } from 'vitest';
import type { Environment, EnvironmentDefinition, StepResult } from '../../envs/contract.ts';
import { type EpisodeBody, episodeBodySchema, resolveLines } from '../../src/domain/episode.ts';
import { episodeId } from '../../src/domain/id.ts';
import { actionLayout, policySpecSchema } from '../../src/domain/policy-spec.ts';
import type { Observation } from '../../src/domain/space.ts';
import type { FinishedEpisode } from '../../src/sampling/finished-episode.ts';
import { InferenceBatch } from '../../src/sampling/inference-batch.ts';
import { Slot } from '../../src/sampling/slot.ts';
import { RING_AGENTS, RING_REWARDS, ring } from '../support/ring.ts';
import { settingsOf } from '../support/worker-settings.ts';

const WINDOW = 3;
const policy = policySpecSchema.parse({
  kind: 'features',
  features: 2,
  window: WINDOW,
  argumentSlots: { input: 1 },
});
const layout = actionLayout(policy);
const MAX_STEPS = 12;

interface Sampled extends FinishedEpisode {
  readonly steps: EpisodeBody['steps'];
  readonly record: EpisodeBody;
}

/** Numbers of observations in a row's window, oldest first, without what stands for none. */
function windowOf(features: Float32Array | Int32Array | Uint8Array, row: number): number[][] {
  const width = 3;
  return Array.from({ length: WINDOW }, (_, i) => {
    const at = (row * WINDOW + i) * width;
    return [...features.subarray(at, at + width)];
  }).flatMap(([acted = 0, heard = 0, there]) => (there === 1 ? [[acted, heard]] : []));
}

/** A value that tells what was looked at: the newest observation's numbers. */
function valueOf(window: readonly number[][]): number {
  const [acted = 0, heard = 0] = window.at(-1) ?? [];
  return acted + heard / 64;
}

/** Episodes of as many slots, in one batch; readers that were seen. */
async function sample(
  definition: EnvironmentDefinition,
  count: number,
): Promise<{ episodes: Sampled[]; readers: number[] }> {
  const episodes: Sampled[] = [];
  const readers: number[] = [];
  const slots = Array.from({ length: count }, (_, index) => {
    const slot = new Slot(
      {
        settings: settingsOf({
          env: { name: 'ring', options: {} },
          policy,
          rewards: RING_REWARDS,
          maxSteps: MAX_STEPS,
          episodeTimeoutMs: 100_000,
        }),
        definition,
        layout,
        lifeline: { begin: () => undefined, end: () => undefined },
        stepPace: { ms: 0 },
        onFinished: (_slot, episode) => {
          const record = episodeBodySchema.parse(JSON.parse(Buffer.from(episode.body).toString('utf8')));
          episodes.push({ ...episode, record, steps: record.steps });
        },
        onReady: () => undefined,
      },
      index,
    );
    const task = { env: 'ring', family: 'round', split: 'train', index } as const;
    slot.begin({
      id: episodeId(index + 1),
      task,
      seed: index,
      phase: 'train',
      mode: 'sampled',
      iteration: 1,
      attempt: 1,
    });
    return slot;
  });
  const batch = new InferenceBatch(policy, layout, count);
  while (episodes.length < count) {
    await batch.run(
      slots.filter(({ state }) => state !== 'free'),
      {
        run: async (rows, { features = new Float32Array(0) }, who) => {
          readers.push(...(who ?? []));
          return await Promise.resolve({
            logProbabilities: new Float32Array(rows * layout.size).fill(-1),
            values: Float32Array.from({ length: rows }, (_, row) => valueOf(windowOf(features, row))),
          });
        },
      },
      1,
    );
  }
  return { episodes, readers };
}

/** The same environment with another way of looking, or none. */
function withLook(env: Environment, look?: (agent: string) => Observation): Environment {
  return {
    reset: (task, seed) => env.reset(task, seed),
    step: (action) => env.step(action),
    getState: () => env.getState(),
    fullReset: () => env.fullReset(),
    close: () => env.close(),
    ...(look === undefined ? {} : { look }),
  };
}

function floats(bytes: Uint8Array | undefined): Float32Array {
  return new Float32Array(new Uint8Array(bytes ?? []).buffer);
}

/** What a step's agent saw: the two numbers of its line. */
function sightOf({ record, steps }: Sampled, index: number): number[] {
  const [, line = ''] = resolveLines(record, steps[index]?.observation ?? record.finalObservation);
  return [...line.matchAll(/\d+/gu)].map(([digits]) => Number(digits));
}

test('every agent sees its own observations alone, and steps say whose they are', async () => {
  const { episodes, readers } = await sample(ring(), 60);
  expect(episodes.some(({ summary }) => summary.truncated)).toBe(true);
  expect(episodes.some(({ summary }) => summary.terminated)).toBe(true);
  for (const episode of episodes) {
    const { steps, tensors, record } = episode;
    expect([...(tensors?.['agents'] ?? [])]).toEqual(
      steps.map(({ agent }) => RING_AGENTS.findIndex((name) => name === agent)),
    );
    const features = floats(tensors?.['features']);
    for (const [index, { agent }] of steps.entries()) {
      const own = [...steps.keys()].filter((at) => at <= index && steps[at]?.agent === agent);
      expect(windowOf(features, index)).toEqual(own.slice(-WINDOW).map((at) => sightOf(episode, at)));
    }
    expect(RING_AGENTS).toContain(record.finalAgent);
  }
  const acted = episodes.flatMap(({ steps, summary }) =>
    steps.map(({ agent }) => 3 * summary.slot + RING_AGENTS.findIndex((name) => name === agent)),
  );
  expect(new Set(readers)).toEqual(new Set(acted));
});

test('what an agent is paid until its next turn is the reward of its step, and the sums are the episode’s', async () => {
  const { episodes } = await sample(ring(), 60);
  for (const { steps, summary, tensors } of episodes) {
    const wanted = steps.map(() => 0);
    const totals: Record<string, number> = { ann: 0, bob: 0, cid: 0 };
    for (const [index, { agent, parts }] of steps.entries()) {
      for (const part of parts) {
        const who = part.agent ?? agent ?? '';
        totals[who] = (totals[who] ?? 0) + part.paid;
        const turn = steps.findLastIndex((step, at) => at <= index && step.agent === who);
        if (turn >= 0) wanted[turn] = (wanted[turn] ?? 0) + part.paid;
      }
    }
    expect([...floats(tensors?.['rewards'])]).toEqual(wanted);
    expect(summary.agentRewards).toEqual(totals);
    expect(Object.values(totals).reduce((sum, paid) => sum + paid, 0)).toBe(summary.reward);
  }
  // Somebody was paid before its first turn: in the episode's reward, and for no step.
  const early = episodes.some(({ steps, tensors, summary }) => {
    const trained = floats(tensors?.['rewards']).reduce((sum, reward) => sum + reward, 0);
    return steps.length > 1 && trained !== summary.reward;
  });
  expect(early).toBe(true);
});

test('cut short, every agent that acted has a last look of its own; at an end there is none', async () => {
  const { episodes } = await sample(ring(), 60);
  for (const episode of episodes) {
    const { summary, steps, agentValues, bootstrapValue, record } = episode;
    // What an agent sees when it is over: how often it acted, and what others said.
    const wanted = RING_AGENTS.map((agent) => {
      if (summary.terminated) return 0;
      const own = steps.filter((step) => step.agent === agent).length;
      const heard = steps.filter((step) => step.agent !== agent && step.action.type === 'input').length;
      return own === 0 ? 0 : own + heard / 64;
    });
    expect(agentValues).toEqual(wanted);
    expect(bootstrapValue === null).toBe(summary.terminated);
    // The record ends with whose turn it was, not with who looked last.
    expect(resolveLines(record, record.finalObservation)[1]).toContain(`${record.finalAgent} acted`);
  }
});

test('without a look of the environment’s, those whose turn it is not go on from what they acted on last', async () => {
  const definition = ring();
  const { episodes } = await sample({ ...definition, create: () => withLook(definition.create({})) }, 60);
  for (const episode of episodes.filter(({ summary }) => summary.truncated)) {
    const { steps, agentValues, record } = episode;
    const wanted = RING_AGENTS.map((agent) => {
      const last = steps.findLastIndex((step) => step.agent === agent);
      if (last < 0) return 0;
      const [acted = 0, heard = 0] = sightOf(episode, record.finalAgent === agent ? steps.length : last);
      return acted + heard / 64;
    });
    expect(agentValues).toEqual(wanted);
  }
});

test.each<[string, (result: StepResult) => StepResult, string]>([
  [
    'an observation for nobody',
    ({ observation: { agent: _agent, ...observation }, ...result }) => ({ ...result, observation }),
    'undefined as agent of an observation',
  ],
  [
    'an observation for a stranger',
    (result) => ({ ...result, observation: { ...result.observation, agent: 'dan' } }),
    '"dan" as agent of an observation',
  ],
  ['a stranger who is paid', (result) => ({ ...result, paid: { dan: { gift: 1 } } }), 'paid of a step'],
])('%s is garbage', async (_what, spoil, words) => {
  const { episodes } = await sample(
    ring((result, steps) => (steps === 1 ? spoil(result) : result)),
    1,
  );
  expect(episodes).toMatchObject([
    { summary: { failure: 'env_crash', trust: 'void', reward: null, steps: 0 }, tensors: null },
  ]);
  expect(episodes[0]?.summary.failureDetail).toContain(words);
});

test('a look that is another agent’s is garbage', async () => {
  const definition = ring((result) => ({ ...result, terminated: false, success: false }));
  const annSees: Observation = { agent: 'ann', lines: [], legal: ['noop'], candidates: [], features: [0, 0] };
  const create = (): Environment => withLook(definition.create({}), () => annSees);
  const { episodes } = await sample({ ...definition, create }, 8);
  const voids = episodes.filter(({ summary }) => summary.failure === 'env_crash');
  expect(voids.length).toBeGreaterThan(0);
  expect(voids[0]?.summary.failureDetail).toContain('"ann" as agent of an observation');
});
