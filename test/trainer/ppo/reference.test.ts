import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { initialKnobs } from '../../../src/domain/knob.ts';
import { observationTensors, type PolicySpec, policySpecSchema } from '../../../src/domain/policy-spec.ts';
import { scheduledValue } from '../../../src/domain/schedule.ts';
import { type TrainerOptions, trainerOptionsSchema } from '../../../src/domain/trainer-options.ts';
import { createPolicy } from '../../../trainer/policy/inference.ts';
import type { ObservationArrays } from '../../../trainer/policy/observation-arrays.ts';
import { parameterShapes } from '../../../trainer/policy/parameters.ts';
import { ActionChoice } from '../../../trainer/policy/sample-action.ts';
import { type Batch, type EpisodeSamples, joinEpisodes } from '../../../trainer/ppo/batch.ts';
import { GradientStepper } from '../../../trainer/ppo/gradient-step.ts';
import { RewardScale } from '../../../trainer/ppo/reward-scale.ts';
import { LOSS_OUTPUTS } from '../../../trainer/ppo/training-model.ts';
import { LossModel, type LossResult } from '../loss-model.ts';

/*
 * What PyTorch computes in float64 (test/reference/ppo_reference.py), against what the graphs compute in float32: equal to
 * 1e-5 of the largest absolute value of each tensor, and of each scalar itself.
 */
const TOLERANCE = 1e-5;

const numbers = z.array(z.number());
const caseOptions = trainerOptionsSchema.pick({
  advantages: true,
  valueClip: true,
  dualClip: true,
  logRatioClamp: true,
});
const lossKnobs = z.object({ kl: z.number(), entropy: z.number(), value: z.number() });
const policySchema = z.object({
  spec: policySpecSchema,
  parameters: z.array(z.tuple([z.string(), z.array(z.int())])),
  weights: numbers,
  observations: z.partialRecord(z.enum(['tokens', 'candidates', 'features', 'mask']), numbers),
  actions: numbers,
  oldLogProbabilities: numbers,
  episodes: z.array(
    z.object({
      ending: z.enum(['terminated', 'truncated', 'unfinished']),
      finalValue: z.number(),
      rewards: numbers,
      values: numbers,
    }),
  ),
  advantages: z.object({ raw: numbers, batch: numbers, rawCut: numbers, batchCut: numbers }),
  returns: numbers,
  logProbabilities: numbers,
  values: numbers,
  entropies: numbers,
  cases: z.array(
    z.object({
      name: z.string(),
      options: caseOptions,
      knobs: lossKnobs,
      losses: z.record(z.enum(LOSS_OUTPUTS), z.number()),
      reached: z.record(z.string(), z.int()),
      gradient: numbers,
    }),
  ),
  trainings: z.array(
    z.object({
      name: z.string(),
      case: z.string(),
      settings: z.object({ gradientNorm: z.number(), adamEpsilon: z.number() }),
      schedule: z.enum(['linear', 'cosine']),
      rows: z.array(z.array(z.int())),
      rates: numbers,
      losses: numbers,
      norms: numbers,
      after1: numbers,
      after10: numbers,
    }),
  ),
});
type PolicyReference = z.infer<typeof policySchema>;

const reference = z
  .object({
    gamma: z.number(),
    lambda: z.number(),
    clip: z.number(),
    rates: z.object({ first: z.number(), last: z.number(), steps: z.int() }),
    rewardScale: z.object({
      window: z.int(),
      episodes: z.array(numbers),
      returns: numbers,
      deviation: z.number(),
    }),
    policies: z.record(z.enum(['text', 'mlp', 'gru']), policySchema),
  })
  .parse(JSON.parse(readFileSync('test/reference/ppo-reference.json', 'utf8')));

/** How far two lists are apart, relative to the largest expected value. */
function distance(actual: ArrayLike<number>, expected: readonly number[]): number {
  expect(actual).toHaveLength(expected.length);
  const largest = Math.max(...expected.map(Math.abs));
  return Math.max(...expected.map((value, i) => Math.abs((actual[i] ?? Number.NaN) - value))) / largest;
}

function expectClose(actual: ArrayLike<number>, expected: readonly number[]): void {
  expect(distance(actual, expected)).toBeLessThanOrEqual(TOLERANCE);
}

function optionsOf(given: Partial<TrainerOptions>): TrainerOptions {
  return { ...trainerOptionsSchema.parse({}), gamma: reference.gamma, lambda: reference.lambda, ...given };
}

function caseOf(policy: PolicyReference, name: string): PolicyReference['cases'][number] {
  const found = policy.cases.find((each) => each.name === name);
  if (found === undefined) throw new Error(`the reference has no case ${name}`);
  return found;
}

function observationsOf({ spec, observations }: PolicyReference): ObservationArrays {
  return Object.fromEntries(
    observationTensors(spec).map(({ name, element }) => [
      name,
      element === 'u16'
        ? Int32Array.from(observations[name] ?? [])
        : Float32Array.from(observations[name] ?? []),
    ]),
  );
}

/** The episodes as the trainer receives them. */
function episodesOf(policy: PolicyReference): EpisodeSamples[] {
  const columns = { u8: Uint8Array, u16: Uint16Array, f32: Float32Array };
  const actions = policy.oldLogProbabilities.length / policy.actions.length;
  let start = 0;
  return policy.episodes.map(({ ending, finalValue, rewards, values }, place) => {
    const steps = rewards.length;
    const part = (all: readonly number[] | undefined, width: number): readonly number[] =>
      (all ?? []).slice(start * width, (start + steps) * width);
    const episode: EpisodeSamples = {
      id: `e${place + 1}`,
      steps,
      ending,
      finalValue,
      observations: Object.fromEntries(
        observationTensors(policy.spec).map(({ name, element, width }) => [
          name,
          columns[element].from(part(policy.observations[name], width)),
        ]),
      ),
      actions: Uint16Array.from(part(policy.actions, 1)),
      logProbabilities: Float32Array.from(part(policy.oldLogProbabilities, actions)),
      values: Float32Array.from(values),
      rewards: Float32Array.from(rewards),
      versions: new Uint32Array(steps),
    };
    start += steps;
    return episode;
  });
}

function batchOf(policy: PolicyReference, given: Partial<TrainerOptions>): Batch {
  return joinEpisodes(policy.spec, episodesOf(policy), optionsOf(given), 0);
}

/** Losses and gradient of the whole batch. */
async function computed(
  policy: PolicyReference,
  { options, knobs }: PolicyReference['cases'][number],
): Promise<LossResult> {
  const model = await LossModel.create(policy.spec, optionsOf(options));
  const weights = Float32Array.from(policy.weights);
  const result = await model.run(weights, batchOf(policy, options), { ...knobs, clip: reference.clip });
  await model.close();
  return result;
}

function gradientsByName(spec: PolicySpec, flat: ArrayLike<number>): [string, number[]][] {
  return parameterShapes(spec).map(({ name, start, length }) => [
    name,
    Array.from({ length }, (_, i) => flat[start + i] ?? Number.NaN),
  ]);
}

describe.each(Object.entries(reference.policies))('the %s policy, as PyTorch computes it', (_, policy) => {
  const cases = policy.cases.map((each) => each.name);

  test('has the same parameters in the same order', () => {
    expect(parameterShapes(policy.spec).map(({ name, shape }) => [name, [...shape]])).toEqual(
      policy.parameters,
    );
  });

  test('log-probabilities, values and entropies', async () => {
    const network = await createPolicy(policy.spec, { threads: 1 });
    network.load(Float32Array.from(policy.weights));
    const observations = observationsOf(policy);
    const count = policy.actions.length;
    const { logProbabilities, values } = await network.run(count, observations);
    await network.close();
    const size = logProbabilities.length / count;
    const mask = observations.mask ?? new Float32Array(0);
    const choice = new ActionChoice(size);
    const entropies = policy.values.map((__, r) => {
      choice.read({ logProbabilities, mask, at: r * size });
      return choice.entropy();
    });
    expect(distance(logProbabilities, policy.logProbabilities)).toBeLessThanOrEqual(TOLERANCE);
    expect(distance(values, policy.values)).toBeLessThanOrEqual(TOLERANCE);
    expect(distance(entropies, policy.entropies)).toBeLessThanOrEqual(TOLERANCE);
  });

  test('advantages and returns of terminated, truncated and unfinished episodes', () => {
    const { advantages, returns } = policy;
    expect(new Set(policy.episodes.map(({ ending }) => ending)).size).toBe(3);
    expectClose(batchOf(policy, { advantages: 'none' }).advantages, advantages.raw);
    expectClose(batchOf(policy, { advantages: 'minibatch' }).advantages, advantages.raw);
    expectClose(batchOf(policy, {}).advantages, advantages.batch);
    expectClose(batchOf(policy, {}).returns, returns);
    const cut = batchOf(policy, { advantages: 'none', bootstrapTruncated: false });
    expectClose(cut.advantages, advantages.rawCut);
    expectClose(batchOf(policy, { bootstrapTruncated: false }).advantages, advantages.batchCut);
    expect(distance(cut.advantages, advantages.raw)).toBeGreaterThan(0.01);
  });

  test.each(cases)('losses and gradients: %s', async (name) => {
    const expected = caseOf(policy, name);
    const { losses, gradient } = await computed(policy, expected);
    const far = LOSS_OUTPUTS.filter(
      (each) => !(distance([losses[each]], [expected.losses[each]]) <= TOLERANCE),
    );
    expect(far.map((each) => `${each}: ${losses[each]}, PyTorch ${expected.losses[each]}`)).toEqual([]);
    const exact = new Map(gradientsByName(policy.spec, expected.gradient));
    for (const [parameter, values] of gradientsByName(policy.spec, gradient)) {
      expect([parameter, distance(values, exact.get(parameter) ?? []) <= TOLERANCE]).toEqual([
        parameter,
        true,
      ]);
    }
  });

  test.each(policy.trainings.map((each) => each.name))(
    'weights after 1 and 10 steps of Adam: %s',
    async (name) => {
      const expected = policy.trainings.find((each) => each.name === name);
      if (expected === undefined) throw new Error(name);
      const { options, knobs } = caseOf(policy, expected.case);
      const batch = batchOf(policy, options);
      const stepper = await GradientStepper.create(
        policy.spec,
        { ...optionsOf(options), ...expected.settings },
        2,
      );
      const weights = Float32Array.from(policy.weights);
      let live = stepper.load({ weights, optimiser: new Float32Array(2 * weights.length) });
      const seen: { loss: number; norm: number }[] = [];
      for (const [place, rows] of expected.rows.entries()) {
        const all = { ...initialKnobs(), ...knobs, clip: reference.clip, lr: expected.rates[place] ?? 0 };
        const result = await stepper.run(live, batch, Int32Array.from(rows), { knobs: all, step: place + 1 });
        live = result.live;
        seen.push({ loss: result.metrics.loss, norm: result.metrics.gradientNorm });
        if (place === 0) expectClose(stepper.unload(live).weights, expected.after1);
      }
      expectClose(stepper.unload(live).weights, expected.after10);
      await stepper.close();
      expectClose(
        seen.map(({ loss }) => loss),
        expected.losses,
      );
      expectClose(
        seen.map(({ norm }) => norm),
        expected.norms,
      );
      const isClipped = expected.norms.map((norm) => norm > expected.settings.gradientNorm);
      expect(new Set(isClipped)).toEqual(new Set([name === 'norm clipped']));
    },
  );
});

test('the reference goes where the options matter', () => {
  for (const policy of Object.values(reference.policies)) {
    expect(caseOf(policy, 'plain').reached).toMatchObject({
      dualClipped: 0,
      valueClipped: 0,
      logRatioHeld: 0,
    });
    const { reached } = caseOf(policy, 'all');
    for (const count of Object.values(reached)) expect(count).toBeGreaterThan(1);
    expect(Object.keys(reached)).toHaveLength(5);
  }
});

test.each([['linear'], ['cosine']] as const)('a %s schedule of the learning rate is PyTorch’s', (shape) => {
  const { first, last, steps } = reference.rates;
  const schedule = {
    unit: 'iterations' as const,
    shape,
    points: [
      [0, first],
      [steps - 1, last],
    ] satisfies [number, number][],
  };
  const training = reference.policies.text.trainings.find((each) => each.schedule === shape);
  const rates = training?.rates.map((_, at) => scheduledValue(schedule, at));
  expect(distance(rates ?? [], training?.rates ?? [])).toBeLessThan(1e-9);
});

test('the deviation that rewards are divided by is PyTorch’s, of the newest episodes', () => {
  const { window, episodes, returns, deviation } = reference.rewardScale;
  const scale = new RewardScale(window, reference.gamma).after(
    episodes.map((rewards) => ({ rewards: Float32Array.from(rewards) })),
  );
  expect(distance(scale.window, returns.slice(-window))).toBeLessThan(1e-9);
  expect(scale.divisor).toBeCloseTo(deviation, 9);
});
