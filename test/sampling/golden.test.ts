import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { cartpole } from '../../envs/classic/definitions.ts';
import type { EnvironmentDefinition } from '../../envs/contract.ts';
import { workbench } from '../../envs/workbench/definition.ts';
import { DEFAULT_REWARDS } from '../../src/domain/default-rewards.ts';
import type { Assignment } from '../../src/domain/episode.ts';
import { episodeId } from '../../src/domain/id.ts';
import {
  actionLayout,
  observationTensors,
  type PolicySpec,
  policySpecSchema,
} from '../../src/domain/policy-spec.ts';
import { deriveSeed } from '../../src/domain/random.ts';
import type { FinishedEpisode } from '../../src/sampling/finished-episode.ts';
import { InferenceBatch } from '../../src/sampling/inference-batch.ts';
import { Slot } from '../../src/sampling/slot.ts';
import type { Policy } from '../../trainer/policy/inference.ts';
import type { ObservationArrays } from '../../trainer/policy/observation-arrays.ts';

/*
 * What is sampled under a policy that is fixed, byte for byte: the summaries, the bodies as they are stored, and the tensors
 * that the trainer gets. A faster sampler must leave these hashes as they are.
 */

const SLOTS = 16;
const SLICE = 7;
const MAX_STEPS = 14;

interface Plan {
  readonly definition: EnvironmentDefinition;
  readonly policy: PolicySpec;
  readonly episodes: number;
}

/** Log-probabilities made of nothing but what the row holds, so that every element that is encoded counts. */
function fixedPolicy(spec: PolicySpec): Policy {
  const { size } = actionLayout(spec);
  const tensors = observationTensors(spec);
  return {
    provider: 'cpu',
    fellBackFrom: [],
    load: () => undefined,
    run: async (rows, observations) => {
      const logProbabilities = new Float32Array(rows * size);
      const values = new Float32Array(rows);
      for (let row = 0; row < rows; row++) {
        const look = tensors.map(({ name, width }) => part(observations, name, row, width));
        const seed = deriveSeed(...look.flatMap((numbers) => [...numbers]));
        const mask = part(observations, 'mask', row, size);
        const logits = Array.from({ length: size }, (_, action) =>
          mask[action] === 1
            ? (4 * deriveSeed(seed, action)) / 2 ** 32 - (action === size - 2 ? 2 : 0)
            : -1e9,
        );
        const highest = Math.max(...logits);
        const weight = logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0);
        for (const [action, logit] of logits.entries())
          logProbabilities[row * size + action] = Math.max(-50, logit - highest - Math.log(weight));
        values[row] = seed / 2 ** 32;
      }
      return await Promise.resolve({ logProbabilities, values });
    },
    close: async () => await Promise.resolve(),
  };
}

function part(
  arrays: ObservationArrays,
  name: keyof ObservationArrays,
  row: number,
  width: number,
): Int32Array | Float32Array {
  return arrays[name]?.subarray(row * width, (row + 1) * width) ?? new Float32Array(0);
}

function assignments({ definition, episodes }: Plan): Assignment[] {
  const { env, families } = definition.catalog;
  return Array.from({ length: episodes }, (_, n): Assignment => {
    const family = families[n % families.length]?.name ?? '';
    const isEvaluation = n % 5 === 4;
    return {
      id: episodeId(n + 1),
      task: {
        env,
        family,
        split: isEvaluation ? 'held_out' : 'train',
        index: Math.floor(n / families.length),
      },
      seed: deriveSeed('golden', n),
      phase: isEvaluation ? 'eval' : 'train',
      mode: n % 10 === 9 ? 'greedy' : 'sampled',
      iteration: 1,
      attempt: 1,
    };
  });
}

async function sample(plan: Plan): Promise<FinishedEpisode[]> {
  const { definition, policy } = plan;
  const layout = actionLayout(policy);
  const queue = assignments(plan);
  const finished: FinishedEpisode[] = [];
  const settings = {
    worker: 0,
    host: 'local',
    env: { name: definition.catalog.env, options: {} },
    slots: SLOTS,
    slice: SLICE,
    inferenceThreads: 1,
    providers: ['cpu' as const],
    allowFallback: false,
    policy,
    rewards: { ...DEFAULT_REWARDS, alive: { weight: 1, cap: null } },
    maxSteps: MAX_STEPS,
    stepTimeoutMs: 600_000,
    episodeTimeoutMs: 600_000,
    unackedBytes: 1,
  };
  const slots = Array.from({ length: SLOTS }, (_, index) => {
    return new Slot(
      {
        settings,
        definition,
        layout,
        lifeline: { begin: () => undefined, end: () => undefined },
        stepPace: { ms: 0 },
        onFinished: (_slot, episode) => finished.push(episode),
        onReady: () => undefined,
      },
      index,
    );
  });
  const batch = new InferenceBatch(policy, layout, SLICE);
  const asked = fixedPolicy(policy);
  for (let call = 0; finished.length < plan.episodes; call++) {
    for (const slot of slots) {
      const next = slot.state === 'free' ? queue.shift() : undefined;
      if (next !== undefined) slot.begin(next);
    }
    const waiting = slots.filter((slot) => slot.state !== 'free');
    const from = (call * SLICE) % waiting.length;
    await batch.run([...waiting.slice(from), ...waiting.slice(0, from)].slice(0, SLICE), asked, call);
  }
  return finished;
}

/** Without what is another on every machine or in another order of slots. */
function digest(episodes: readonly FinishedEpisode[]): string {
  const hash = createHash('sha256');
  const ordered = episodes.toSorted((a, b) => Number(a.summary.id.slice(1)) - Number(b.summary.id.slice(1)));
  for (const { summary, body, tensors, bootstrapValue } of ordered) {
    // These are younger than the hashes.
    const { failureStage: _stage, stages: _stages, tags: _tags, tools: _tools, ...older } = summary;
    const { slot: _slot, startedAt: _startedAt, wallMs: _wallMs, ...rest } = older;
    hash.update(JSON.stringify([rest, bootstrapValue]));
    // So is a step's tool.
    hash.update(
      Buffer.from(body)
        .toString('utf8')
        .replaceAll(/,"tool":\{[^{}]*\}/gu, ''),
    );
    for (const [name, tensor] of Object.entries(tensors ?? {})) {
      hash.update(name);
      hash.update(tensor);
    }
  }
  return hash.digest('hex');
}

/** What is counted of tools, and the task's tags: a hash of their own, since they came later. */
function countsDigest(episodes: readonly FinishedEpisode[]): string {
  const counts = episodes
    .toSorted((a, b) => Number(a.summary.id.slice(1)) - Number(b.summary.id.slice(1)))
    .map(({ summary: { id, tags, tools } }) => [id, tags, tools]);
  return createHash('sha256').update(JSON.stringify(counts)).digest('hex');
}

function total(episodes: readonly FinishedEpisode[], of: (episode: FinishedEpisode) => number): number {
  return episodes.reduce((sum, episode) => sum + of(episode), 0);
}

test('300 episodes of the Workbench are what they have always been', async () => {
  const policy = policySpecSchema.parse({ kind: 'text' });
  const episodes = await sample({ definition: workbench, policy, episodes: 300 });
  // Enough of everything for the hash to mean something.
  expect(total(episodes, ({ summary }) => summary.steps)).toBeGreaterThan(2000);
  expect(total(episodes, ({ bootstrapValue }) => Number(bootstrapValue !== null))).toBeGreaterThan(50);
  expect(total(episodes, ({ tensors }) => Number(tensors === null))).toBe(60);
  expect(total(episodes, ({ summary }) => summary.tools.calls)).toBeGreaterThan(50);
  expect(total(episodes, ({ summary }) => summary.tools.failed)).toBeGreaterThan(10);
  expect(countsDigest(episodes)).toMatchInlineSnapshot(
    `"90d449cdc81f8a9581746a6ebaf373e1977cc06251d4f145f096891e05bfca47"`,
  );
  expect(digest(episodes)).toMatchInlineSnapshot(
    `"7426841a1b33a7a2ac68ba799906a5955865bbf2f7cefec6705bb5b923e5298c"`,
  );
});

test('60 episodes of CartPole are what they have always been', async () => {
  const policy = policySpecSchema.parse({
    kind: 'features',
    features: 4,
    window: 3,
    argumentSlots: { input: 2 },
  });
  const episodes = await sample({ definition: cartpole, policy, episodes: 60 });
  expect(total(episodes, ({ summary }) => summary.steps)).toBeGreaterThan(300);
  expect(digest(episodes)).toMatchInlineSnapshot(
    `"5ebbedde3261b739da448a3804d265b555fad10b78fc85467ebf2a060805b5ab"`,
  );
});
