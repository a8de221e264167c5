import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { initialKnobs, type KnobValues } from '../../../src/domain/knob.ts';
import { actionLayout, policySpecSchema } from '../../../src/domain/policy-spec.ts';
import { createRandom } from '../../../src/domain/random.ts';
import { createPolicy } from '../../../trainer/policy/inference.ts';
import { initialWeights } from '../../../trainer/policy/parameters.ts';
import { type Batch, type EpisodeSamples, joinEpisodes } from '../../../trainer/ppo/batch.ts';
import { type FlatWeights, GradientStepper } from '../../../trainer/ppo/gradient-step.ts';
import { runUpdate, type UpdateOutcome } from '../../../trainer/ppo/update.ts';
import { batchOf, OPTIONS, randomRows, SMALL, SMALL_LAYOUT } from '../small-policy.ts';

const made: GradientStepper[] = [];
let minibatch: GradientStepper;
let none: GradientStepper;
beforeAll(async () => {
  minibatch = await GradientStepper.create(SMALL, { ...OPTIONS, advantages: 'minibatch' }, 2);
  none = await GradientStepper.create(SMALL, { ...OPTIONS, advantages: 'none' }, 2);
  made.push(minibatch, none);
}, 60_000);
afterAll(async () => {
  await Promise.all(made.map((each) => each.close()));
});

function updated(outcome: UpdateOutcome): Extract<UpdateOutcome, { kind: 'updated' }> {
  if (outcome.kind !== 'updated') throw new Error(JSON.stringify(outcome));
  return outcome;
}

function control(knobs: KnobValues) {
  return { knobs: () => knobs, before: () => Promise.resolve(true), after: () => undefined };
}

describe('in a world of one state that pays 1 for ever, of which episodes show five steps', () => {
  const spec = policySpecSchema.parse({
    kind: 'features',
    features: 1,
    hidden: 8,
    argumentSlots: { input: 1 },
  });
  const { size, bare } = actionLayout(spec);
  const GAMMA = 0.9;
  const STEPS = 5;
  const observation = { features: Float32Array.of(1), mask: new Float32Array(size).fill(1) };

  function episode(id: string, logProbabilities: Float32Array, value: number): EpisodeSamples {
    const all = (of: number): Float32Array => new Float32Array(STEPS).fill(of);
    return {
      id,
      steps: STEPS,
      ending: 'truncated',
      finalValue: value,
      observations: { features: all(1), mask: new Uint8Array(STEPS * size).fill(1) },
      actions: new Uint16Array(STEPS).fill(bare.noop),
      logProbabilities: Float32Array.from(
        { length: STEPS * size },
        (_, i) => logProbabilities[i % size] ?? 0,
      ),
      values: all(value),
      rewards: all(1),
      versions: new Uint32Array(STEPS),
    };
  }

  /** The value that is learnt. */
  async function learnt(bootstrapTruncated: boolean): Promise<number> {
    const options = { ...OPTIONS, gamma: GAMMA, bootstrapTruncated };
    const stepper = await GradientStepper.create(spec, options, 1);
    made.push(stepper);
    const policy = await createPolicy(spec, { threads: 1 });
    const weights = initialWeights(spec, 1);
    let flat: FlatWeights & { adamStep: number } = {
      weights,
      optimiser: new Float32Array(2 * weights.length),
      adamStep: 0,
    };
    const knobs = { ...initialKnobs(), lr: 0.05, epochs: 4, kl_limit: 0, minibatch: 20 };
    let value = 0;
    for (let iteration = 0; iteration < 50; iteration++) {
      policy.load(flat.weights);
      const { logProbabilities, values } = await policy.run(1, observation);
      value = values[0] ?? 0;
      const episodes = ['a', 'b', 'c', 'd'].map((id) => episode(id, logProbabilities, value));
      const batch = joinEpisodes(spec, episodes, options, 0);
      const start = { ...flat, random: createRandom(iteration) };
      flat = updated(await runUpdate(stepper, batch, start, control(knobs))).end;
    }
    await policy.close();
    return value;
  }

  test('the value is 1 / (1 − γ) with V(s_T) of truncated episodes, and far less without', async () => {
    expect(await learnt(true)).toBeCloseTo(1 / (1 - GAMMA), 2);
    // At most five rewards are seen.
    expect(await learnt(false)).toBeLessThan((1 - GAMMA ** STEPS) / (1 - GAMMA));
  });
});

const COUNT = 32;

/** A batch of random rows under the policy that a run begins with, which chose one action only. */
async function smallBatch(of: (row: number) => number): Promise<Batch> {
  const rows = randomRows(SMALL, COUNT, createRandom(2));
  const policy = await createPolicy(SMALL, { threads: 1 });
  policy.load(initialWeights(SMALL, 1));
  const { logProbabilities } = await policy.run(COUNT, rows);
  await policy.close();
  const advantages = Float32Array.from({ length: COUNT }, (_, row) => of(row));
  const actions = new Int32Array(COUNT).fill(SMALL_LAYOUT.bare.noop);
  return batchOf(rows, actions, logProbabilities, advantages, advantages);
}

function smallStart(): FlatWeights & { adamStep: number } {
  const weights = initialWeights(SMALL, 1);
  return { weights, optimiser: new Float32Array(2 * weights.length), adamStep: 0 };
}

/** Halves with means far apart: normalised by the part of a thread, they would be alike. */
function advantageOf(row: number): number {
  return Math.sin(row) + (row < 10 ? 2 : -2);
}

describe('advantages normalised by minibatch', () => {
  const rows = Int32Array.from({ length: 20 }, (_, i) => i);

  /** Of the gradients of the policy loss alone. */
  async function norm(stepper: GradientStepper, of: (row: number) => number): Promise<number> {
    const batch = { ...(await smallBatch(of)), returns: new Float32Array(COUNT) };
    const knobs = { ...initialKnobs(), value: 0, entropy: 0, kl: 0 };
    const { metrics } = await stepper.run(stepper.load(smallStart()), batch, rows, { knobs, step: 1 });
    return metrics.gradientNorm;
  }

  test('have mean and deviation of the whole minibatch, not of the part that a thread has', async () => {
    const values = Array.from(rows, advantageOf);
    const mean = values.reduce((sum, each) => sum + each, 0) / rows.length;
    const deviation = Math.sqrt(
      values.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (rows.length - 1),
    );
    const expected = await norm(none, (row) => (advantageOf(row) - mean) / deviation);
    expect(expected).toBeGreaterThan(0.01);
    expect((await norm(minibatch, advantageOf)) / expected).toBeCloseTo(1, 4);
    // Neither what is added to all nor what all are multiplied by changes anything.
    expect((await norm(minibatch, (row) => 7 * advantageOf(row) + 30)) / expected).toBeCloseTo(1, 4);
    expect((await norm(none, advantageOf)) / expected).not.toBeCloseTo(1, 1);
  });

  test('are 0 where they are all equal', async () => {
    expect(await norm(minibatch, () => 0.1)).toBe(0);
  });
});

describe('an update ends early by the KL of the estimator chosen', () => {
  test.each([
    ['exact', 'kl'],
    ['k1', 'klK1'],
    ['k3', 'klK3'],
  ] as const)('%s', async (klEstimator, metric) => {
    const batch = await smallBatch(() => -1);
    // One minibatch a pass, so that what the update says of its last pass is what its last minibatch had.
    const knobs = { ...initialKnobs(), lr: 0.01, minibatch: COUNT, epochs: 20 };
    const guard = { kl: 0, entropy: 0 };
    const run = async (limit: number) => {
      const start = { ...smallStart(), random: createRandom(1) };
      const limits = { guard, klEstimator };
      return updated(await runUpdate(none, batch, start, control({ ...knobs, kl_limit: limit }), limits));
    };
    expect((await run(0)).stop).toBeNull();
    const { stop, metrics } = await run(0.01);
    expect(metrics.stoppedEarly).toBe(true);
    expect(metrics.minibatches).toBeLessThan(20);
    expect(stop?.kl).toBeGreaterThan(0.01);
    expect(stop?.kl).toBeCloseTo(metrics[metric] ?? Number.NaN, 9);
    expect(new Set([metrics.kl, metrics.klK1, metrics.klK3]).size).toBe(3);
  });
});
