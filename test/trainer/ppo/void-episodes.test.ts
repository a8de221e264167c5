import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Environment, EnvironmentDefinition } from '../../../envs/contract.ts';
import { episodeId } from '../../../src/domain/id.ts';
import { actionLayout, policySpecSchema } from '../../../src/domain/policy-spec.ts';
import type { Observation } from '../../../src/domain/space.ts';
import type { FinishedEpisode } from '../../../src/sampling/finished-episode.ts';
import { InferenceBatch } from '../../../src/sampling/inference-batch.ts';
import { Slot } from '../../../src/sampling/slot.ts';
import { createPolicy, type Policy } from '../../../trainer/policy/inference.ts';
import { type EpisodeSamples, joinEpisodes, readSamples } from '../../../trainer/ppo/batch.ts';
import { RewardScale } from '../../../trainer/ppo/reward-scale.ts';
import { OPTIONS } from '../small-policy.ts';

const policy = policySpecSchema.parse({
  kind: 'features',
  features: 1,
  hidden: 4,
  argumentSlots: { input: 2 },
});
const layout = actionLayout(policy);
const STEPS = 4;

let network: Policy;
beforeAll(async () => {
  network = await createPolicy(policy, { threads: 1 });
});
afterAll(async () => await network.close());

/** Pays its task's index each step; a task from 100 on breaks in its last step, after it has paid. */
class Payer implements Environment {
  readonly #crashes: boolean;
  readonly #pay: number;
  #step = 0;

  constructor(index: number) {
    this.#crashes = index >= 100;
    this.#pay = index;
  }

  reset(): Observation {
    return { lines: [], legal: ['noop'], candidates: [], features: [1] };
  }

  step() {
    this.#step++;
    if (this.#crashes && this.#step === STEPS) throw new Error('broken');
    return {
      observation: this.reset(),
      components: { pay: this.#pay },
      terminated: this.#step === STEPS,
      success: this.#step === STEPS,
      failure: null,
      effective: true,
    };
  }

  getState(): unknown {
    return this.#step;
  }

  fullReset(): void {
    this.#step = 0;
  }

  close(): void {
    this.#step = 0;
  }
}

function definitionOf(index: number): EnvironmentDefinition {
  return {
    catalog: {
      env: 'payer',
      version: '1',
      maxSteps: 100,
      families: [{ name: 'pay', train: 1000, heldOut: 0 }],
    },
    createTask: ({ env, family, split }) => ({
      env,
      family,
      split,
      index,
      seed: 1,
      difficulty: 0,
      text: 'pay',
      params: {},
    }),
    create: () => new Payer(index),
  };
}

/** Plays one episode in a slot, as a worker does. */
async function play(index: number): Promise<FinishedEpisode> {
  const finished: FinishedEpisode[] = [];
  const slot = new Slot(
    {
      settings: {
        worker: 0,
        host: 'local',
        env: { name: 'payer', options: {} },
        slots: 1,
        slice: 1,
        inferenceThreads: 1,
        providers: ['cpu'],
        allowFallback: false,
        policy,
        rewards: { pay: { weight: 1, cap: null } },
        maxSteps: 100,
        stepTimeoutMs: 10_000,
        episodeTimeoutMs: 100_000,
        unackedBytes: 1,
      },
      definition: definitionOf(index),
      layout,
      lifeline: { begin: () => undefined, end: () => undefined },
      stepPace: { ms: 0 },
      onFinished: (_slot, episode) => finished.push(episode),
      onReady: () => undefined,
    },
    0,
  );
  const task = { env: 'payer', family: 'pay', split: 'train', index } as const;
  slot.begin({
    id: episodeId(index + 1),
    task,
    seed: 1,
    phase: 'train',
    mode: 'sampled',
    iteration: 1,
    attempt: 1,
  });
  const inference = new InferenceBatch(policy, layout, 1);
  while (slot.state === 'ready') await inference.run([slot], network, 1);
  const [episode] = finished;
  if (episode === undefined) throw new Error('the episode did not end');
  return episode;
}

async function playAll(...indices: number[]): Promise<FinishedEpisode[]> {
  const episodes: FinishedEpisode[] = [];
  for (const index of indices) episodes.push(await play(index));
  return episodes;
}

/** What the trainer gets of episodes: those that bring tensors. */
function samplesOf(episodes: readonly FinishedEpisode[]): EpisodeSamples[] {
  return episodes.flatMap(({ summary, tensors, bootstrapValue }) => {
    const { id, steps, terminated } = summary;
    return tensors === null ? [] : [readSamples(policy, { id, steps, terminated, bootstrapValue }, tensors)];
  });
}

test('void episodes are in no batch, no mean, no deviation and no scale of rewards', async () => {
  const episodes = await playAll(1, 500, 2, 3, 900);
  expect(episodes.map(({ summary }) => summary.trust)).toEqual(['valid', 'void', 'valid', 'valid', 'void']);
  // They did pay before they broke: had they come in, everything would be another number.
  expect(episodes.filter(({ summary }) => summary.steps === 0)).toEqual([]);
  const [all, sound] = [samplesOf(episodes), samplesOf(await playAll(1, 2, 3))];
  const [scale, soundScale] = [all, sound].map((each) => new RewardScale(10, 0.99).after(each));
  expect(scale?.window).toEqual(soundScale?.window);
  expect(scale?.window).toHaveLength(3);
  const [batch, expected] = [all, sound].map((each) =>
    joinEpisodes(policy, each, OPTIONS, 1, scale?.divisor),
  );
  expect(batch).toEqual(expected);
  expect(batch?.count).toBe(3 * STEPS);
});
