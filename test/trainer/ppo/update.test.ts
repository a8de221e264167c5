import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { initialKnobs, type KnobValues } from '../../../src/domain/knob.ts';
import { CANDIDATE_TOKENS } from '../../../src/domain/policy-spec.ts';
import { createRandom } from '../../../src/domain/random.ts';
import type { KlEstimator } from '../../../src/domain/trainer-options.ts';
import { createPolicy, type Policy } from '../../../trainer/policy/inference.ts';
import { initialWeights } from '../../../trainer/policy/parameters.ts';
import { chooseAction } from '../../../trainer/policy/sample-action.ts';
import { normalise } from '../../../trainer/ppo/advantages.ts';
import type { Batch } from '../../../trainer/ppo/batch.ts';
import type { UpdateStart } from '../../../trainer/ppo/descent.ts';
import { GradientStepper } from '../../../trainer/ppo/gradient-step.ts';
import {
  runUpdate,
  type UpdateControl,
  type UpdateLimits,
  type UpdateOutcome,
} from '../../../trainer/ppo/update.ts';
import { spotOf } from '../../../trainer/ppo/update-spot.ts';
import { batchOf, OPTIONS, randomRows, SMALL, SMALL_LAYOUT } from '../small-policy.ts';

const SETTINGS = { ...OPTIONS, gradientNorm: 0.5, adamEpsilon: 1e-5 };
const KNOBS: KnobValues = { ...initialKnobs(), minibatch: 32, epochs: 3, kl_limit: 0 };
const { size, slots, bare } = SMALL_LAYOUT;

let two: GradientStepper;
let one: GradientStepper;
let policy: Policy;
beforeAll(async () => {
  two = await GradientStepper.create(SMALL, SETTINGS, 2);
  one = await GradientStepper.create(SMALL, SETTINGS, 1);
  policy = await createPolicy(SMALL, { threads: 1 });
}, 60_000);
afterAll(async () => {
  await two.close();
  await one.close();
  await policy.close();
});

function begin(weights = initialWeights(SMALL, 1)): UpdateStart {
  return { weights, optimiser: new Float32Array(2 * weights.length), adamStep: 0, random: createRandom(5) };
}

function steady(knobs: KnobValues): UpdateControl {
  return { knobs: () => knobs, before: () => Promise.resolve(true), after: () => undefined };
}

/** Acts in random rows with the given weights; the action `rewarded` pays 1, any other nothing. */
async function play(weights: Float32Array, count: number, seed: number, rewarded: number) {
  const random = createRandom(seed);
  const rows = randomRows(SMALL, count, random);
  for (let r = 0; r < count; r++) {
    rows.mask[r * size + rewarded] = 1;
    // Slots are alike to the policy: the candidate to take is told by its kind.
    for (let slot = 0; slot < slots; slot++) {
      rows.candidates[(r * slots + slot) * CANDIDATE_TOKENS + 1] = slot === rewarded ? 10 : 11;
    }
  }
  policy.load(weights);
  const { logProbabilities, values } = await policy.run(count, rows);
  const actions = Int32Array.from({ length: count }, (_, r) => {
    const at = [r * size, (r + 1) * size] as const;
    return chooseAction(logProbabilities.subarray(...at), rows.mask.subarray(...at), 'sampled', random);
  });
  const rewards = Float32Array.from(actions, (action) => (action === rewarded ? 1 : 0));
  const advantages = rewards.map((reward, r) => reward - (values[r] ?? 0));
  normalise(advantages);
  const probability = Array.from({ length: count }, (_, r) =>
    Math.exp(logProbabilities[r * size + rewarded] ?? 0),
  );
  return {
    batch: batchOf(rows, actions, logProbabilities, advantages, rewards),
    probability: probability.reduce((sum, each) => sum + each, 0) / count,
  };
}

function updated(outcome: UpdateOutcome): Extract<UpdateOutcome, { kind: 'updated' }> {
  if (outcome.kind !== 'updated') throw new Error(JSON.stringify(outcome));
  return outcome;
}

describe('an update', () => {
  test.each([
    ['a type without argument', bare.submit],
    ['an argument', SMALL_LAYOUT.blocks.input.start + 1],
  ])('makes the rewarded action likely: %s', async (_, rewarded) => {
    const knobs = { ...KNOBS, lr: 0.01 };
    let start = begin();
    const before = await play(start.weights, 256, 100, rewarded);
    for (let iteration = 1; iteration <= 25; iteration++) {
      const { batch } = await play(start.weights, 256, iteration, rewarded);
      const { end } = updated(await runUpdate(two, batch, start, steady(knobs)));
      start = { ...start, ...end };
    }
    const after = await play(start.weights, 256, 100, rewarded);
    expect(before.probability).toBeLessThan(0.4);
    expect(after.probability).toBeGreaterThan(0.8);
    expect(start.adamStep).toBe(25 * 24);
  });

  test('finds ratios of 1 in the first minibatch of fresh samples', async () => {
    const { batch } = await play(initialWeights(SMALL, 1), 100, 1, bare.submit);
    const outcome = updated(await runUpdate(two, batch, begin(), steady(KNOBS)));
    expect(outcome.firstRatioDeviation).toBeLessThan(1e-3);
    expect(outcome.metrics.kl).toBeGreaterThan(0);
    expect(outcome.metrics.minibatches).toBe(9);
  });

  test('gives the same bits again, and the same but for rounding on one thread', async () => {
    const { batch } = await play(initialWeights(SMALL, 1), 100, 1, bare.submit);
    const [a, b] = [
      updated(await runUpdate(two, batch, begin(), steady(KNOBS))),
      updated(await runUpdate(two, batch, begin(), steady(KNOBS))),
    ];
    expect(a.end).toEqual(b.end);
    const c = updated(await runUpdate(one, batch, begin(), steady(KNOBS)));
    for (const [i, weight] of c.end.weights.entries()) expect(weight).toBeCloseTo(a.end.weights[i] ?? 0, 3);
    expect(c.metrics.gradientNorm).toBeCloseTo(a.metrics.gradientNorm, 4);
  });

  test('works on fewer samples than threads', async () => {
    const { batch } = await play(initialWeights(SMALL, 1), 1, 1, bare.submit);
    expect(updated(await runUpdate(two, batch, begin(), steady(KNOBS))).metrics.minibatches).toBe(3);
  });

  test('leaves the weights where they were when the learning rate is 0', async () => {
    const { batch } = await play(initialWeights(SMALL, 1), 64, 1, bare.submit);
    const { end } = updated(await runUpdate(two, batch, begin(), steady({ ...KNOBS, lr: 0 })));
    expect(end.weights).toEqual(initialWeights(SMALL, 1));
  });

  test('ends after a minibatch whose KL passes the limit', async () => {
    const { batch } = await play(initialWeights(SMALL, 1), 128, 1, bare.submit);
    const knobs = { ...KNOBS, lr: 0.05, kl_limit: 1e-3, epochs: 20 };
    const { metrics } = updated(await runUpdate(two, batch, begin(), steady(knobs)));
    expect(metrics.stoppedEarly).toBe(true);
    expect(metrics.minibatches).toBeGreaterThan(1);
    expect(metrics.minibatches).toBeLessThan(80);
  });

  test('takes new knobs at the next minibatch, epochs and size among them', async () => {
    const { batch } = await play(initialWeights(SMALL, 1), 128, 1, bare.submit);
    let knobs: KnobValues = { ...KNOBS, epochs: 5 };
    const sizes: number[] = [];
    const outcome = await runUpdate(two, batch, begin(), {
      knobs: () => knobs,
      before: (minibatch) => {
        if (minibatch === 2) knobs = { ...knobs, minibatch: 64, epochs: 2, kl: 7 };
        return Promise.resolve(true);
      },
      after: (_, total) => void sizes.push(total),
    });
    // Two of 32 and one of 64 in the first pass, two of 64 in the second.
    expect(sizes).toEqual([20, 20, 4, 4, 4]);
    expect(updated(outcome).metrics.klCoefficient).toBe(7);
  });

  test('is given up when the control says so', async () => {
    const { batch } = await play(initialWeights(SMALL, 1), 128, 1, bare.submit);
    const control = { ...steady(KNOBS), before: (minibatch: number) => Promise.resolve(minibatch < 2) };
    expect(await runUpdate(two, batch, begin(), control)).toEqual({ kind: 'abandoned' });
  });
});

function spoil(batch: Batch, name: 'returns' | 'advantages' | 'oldLogProbabilities', value: number): Batch {
  return { ...batch, [name]: batch[name].with(3, value) };
}

function limits(kl: number, entropy: number, klEstimator: KlEstimator = 'exact'): UpdateLimits {
  return { guard: { kl, entropy }, klEstimator };
}

async function fresh(): Promise<Batch> {
  return (await play(initialWeights(SMALL, 1), 128, 1, bare.submit)).batch;
}

describe('the guard of an update', () => {
  const WILD: KnobValues = { ...KNOBS, lr: 0.1, epochs: 20, clip: 1, kl: 0.0001, entropy: 0 };
  test('rejects a KL spike: which minibatch, which episodes, and the start is as it was', async () => {
    const batch = { ...(await fresh()), episodes: spans(8) };
    const start = begin();
    const outcome = rejected(await runUpdate(two, batch, start, steady(WILD), limits(0.3, 0)));
    expect(outcome.cause).toBe('kl_spike');
    expect(outcome.spot!.minibatch).toBeGreaterThan(0);
    expect(outcome.spot!.kl).toBeGreaterThan(0.3);
    expect(outcome.spot!.episodes).toHaveLength(5);
    expect(start).toEqual({ ...begin(), random: start.random });
  });

  test.each(['k1', 'k3'] as const)(
    'holds the %s estimate against its limits when told to',
    async (estimator) => {
      const batch = await fresh();
      const outcome = rejected(await runUpdate(two, batch, begin(), steady(WILD), limits(0.3, 0, estimator)));
      const exact = rejected(await runUpdate(two, batch, begin(), steady(WILD), limits(0.3, 0)));
      expect(outcome.spot!.kl).toBeGreaterThan(0.3);
      expect(outcome.spot!.kl).not.toBe(exact.spot!.kl);
      const knobs = { ...WILD, kl_limit: 0.05 };
      const stopped = updated(await runUpdate(two, batch, begin(), steady(knobs), limits(0, 0, estimator)));
      expect(stopped.stop!.kl).toBeGreaterThan(0.05);
    },
  );

  test('rejects an entropy collapse, and lets a fall within the bound pass', async () => {
    const { batch } = await play(initialWeights(SMALL, 1), 256, 1, bare.submit);
    const knobs = { ...KNOBS, lr: 0.05, epochs: 20, entropy: 0, clip: 1, kl: 0.0001 };
    const run = async (entropy: number) =>
      await runUpdate(two, batch, begin(), steady(knobs), limits(0, entropy));
    const outcome = rejected(await run(0.9));
    expect(outcome.cause).toBe('entropy_collapse');
    expect(outcome.reason).toMatch(/^the entropy fell from [\d.e-]+ to [\d.e-]+, to less than 0\.9 of it$/u);
    expect(outcome.spot!.episodes.length).toBeGreaterThan(0);
    expect((await run(0)).kind).toBe('updated');
  });
});

describe('what the last step did', () => {
  // One minibatch, one pass: before its step the policy is the one that sampled, and its KL is 0.
  const ONE: KnobValues = { ...KNOBS, lr: 0.1, epochs: 1, minibatch: 128, clip: 1, kl: 0.0001, entropy: 0 };

  test('is held against the guard too, although no minibatch follows it', async () => {
    const batch = { ...(await fresh()), episodes: spans(8) };
    const outcome = rejected(await runUpdate(two, batch, begin(), steady(ONE), limits(0.002, 0)));
    expect(outcome.cause).toBe('kl_spike');
    expect(outcome.reason).toMatch(/^after minibatch 0: KL [\d.]+, the guard allows 0\.002$/u);
    expect(outcome.spot!.kl).toBeGreaterThan(0.002);
    expect(updated(await runUpdate(two, batch, begin(), steady(ONE), limits(0, 0))).metrics.kl).toBeLessThan(
      1e-5,
    );
  });
});

describe('a spot', () => {
  const rows = Int32Array.of(0, 5, 9, 11, 4);

  test('names the episodes by their largest |log ratio| in the minibatch, what is not finite first', async () => {
    const batch = { ...(await play(initialWeights(SMALL, 1), 12, 1, bare.submit)).batch, episodes: spans(4) };
    // e1 has rows 0 to 3, e2 4 to 7, e3 8 to 11.
    const logRatios = Float32Array.of(0.5, -0.25, Number.NaN, 0.125, -3);
    expect(spotOf(batch, { minibatch: 6, rows, logRatios }, Number.NaN)).toEqual({
      minibatch: 6,
      kl: null,
      episodes: [
        { id: 'e3', logRatio: null },
        { id: 'e2', logRatio: -3 },
        { id: 'e1', logRatio: 0.5 },
      ],
    });
  });

  test('names an episode whose ratios are all 1 too', async () => {
    const batch = { ...(await play(initialWeights(SMALL, 1), 12, 1, bare.submit)).batch, episodes: spans(4) };
    const { episodes } = spotOf(
      batch,
      { minibatch: 0, rows: Int32Array.of(8), logRatios: Float32Array.of(0) },
      0,
    );
    expect(episodes).toEqual([{ id: 'e3', logRatio: 0 }]);
  });
});

/** Episodes of so many steps each, for the largest batch here. */
function spans(steps: number): Batch['episodes'] {
  return Array.from({ length: 256 / steps }, (_, n) => ({ id: `e${n + 1}`, start: n * steps, steps }));
}

function rejected(outcome: UpdateOutcome): Extract<UpdateOutcome, { kind: 'rejected' }> {
  if (outcome.kind !== 'rejected') throw new Error(outcome.kind);
  return outcome;
}

describe('an update that cannot be', () => {
  test('is rejected, with the reason, and leaves its start alone', async () => {
    const { batch } = await play(initialWeights(SMALL, 1), 64, 1, bare.submit);
    const start = begin();
    const run = async (spoilt: Batch, knobs = KNOBS) => await runUpdate(two, spoilt, start, steady(knobs));
    expect(await run(spoil(batch, 'returns', Number.NaN))).toEqual({
      kind: 'rejected',
      cause: 'bad_batch',
      reason: 'rewards or values are not finite',
      spot: null,
    });
    expect(await run(spoil(batch, 'returns', 1e30))).toMatchObject({
      kind: 'rejected',
      reason: expect.stringMatching(/^minibatch \d: (loss|valueLoss) is Infinity$/u),
    });
    expect(await run(spoil(batch, 'oldLogProbabilities', Number.NaN))).toMatchObject({ kind: 'rejected' });
    expect(start).toEqual({ ...begin(), random: start.random });
  });

  test('without samples is rejected', async () => {
    const empty = batchOf(
      randomRows(SMALL, 0, createRandom(1)),
      new Int32Array(0),
      new Float32Array(0),
      new Float32Array(0),
      new Float32Array(0),
    );
    expect(await runUpdate(two, empty, begin(), steady(KNOBS))).toEqual({
      kind: 'rejected',
      cause: 'bad_batch',
      reason: 'there were no samples',
      spot: null,
    });
  });
});
