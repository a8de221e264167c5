import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRandom } from '../../../src/domain/random.ts';
import { createPolicy, type Policy } from '../../../trainer/policy/inference.ts';
import { initialWeights, parameterShapes, splitWeights } from '../../../trainer/policy/parameters.ts';
import { LossModel, type LossResult } from '../loss-model.ts';
import { batchOf, OPTIONS, randomRows, SMALL, SMALL_LAYOUT } from '../small-policy.ts';

const COUNT = 6;
const { size } = SMALL_LAYOUT;
const KNOBS = { clip: 0.2, kl: 0.3, entropy: 0.01, value: 0.5 };
const rows = randomRows(SMALL, COUNT, createRandom(11));
// Nearly everything legal, so that arguments are really chosen among several.
rows.mask.fill(1);
rows.mask.fill(0, size, size + SMALL_LAYOUT.blocks.read.length);
rows.mask[3 * size + SMALL_LAYOUT.blocks.input.start] = 0;
// Larger than a run begins with: no part of the network may be nearly linear, or its gradient lost in float32's noise.
const weights = initialWeights(SMALL, 3).map((value) => value * 2.5);
const views = splitWeights(SMALL, weights);
views['query']?.set(views['query'].map((value) => value * 3));
views['queryBias']?.set(views['queryBias'].map((_, i) => Math.sin(i + 1)));
views['candidateBias']?.set(views['candidateBias'].map((_, i) => Math.cos(i + 1) / 2));
const advantages = Float32Array.of(-1, 1.5, 0.7, -0.4, 0.9, -1.2);
const returns = Float32Array.of(0.5, -0.3, 1, 0, 0.2, -1);

let model: LossModel;
let policy: Policy;
let current: Float32Array;
beforeAll(async () => {
  model = await LossModel.create(SMALL, OPTIONS);
  policy = await createPolicy(SMALL, { threads: 1 });
  policy.load(weights);
  current = (await policy.run(COUNT, rows)).logProbabilities;
});
afterAll(async () => {
  await model.close();
  await policy.close();
});

/** An action of each row: with an argument, neither sure nor unlikely; in row 0 the last one, which has none. */
function chosenActions(): Int32Array {
  return Int32Array.from({ length: COUNT }, (_, r) => {
    if (r === 0) return size - 1;
    const distances = current
      .subarray(r * size, r * size + SMALL_LAYOUT.slots)
      .map((value) => Math.abs(value + 3));
    return distances.indexOf(Math.min(...distances));
  });
}

/** Old log-probabilities under which the action of row r has the ratio given; the rest of the row is moved a little. */
function oldUnder(actions: Int32Array, ratios: readonly number[]): Float32Array {
  const old = current.map((value, i) => (value === -50 ? value : value + 0.05 * Math.sin(i)));
  for (const [r, action] of actions.entries()) {
    old[r * size + action] = (current[r * size + action] ?? 0) - Math.log(ratios[r] ?? 1);
  }
  return old;
}

async function run(vector: Float32Array, actions: Int32Array, old: Float32Array): Promise<LossResult> {
  return await model.run(vector, batchOf(rows, actions, old, advantages, returns), KNOBS);
}

/** The derivative by one weight: central differences of fourth order, so that a step large beside float32's noise will do. */
async function numerical(index: number, loss: (vector: Float32Array) => Promise<number>): Promise<number> {
  const step = 1.6e-2;
  const moved = async (by: number): Promise<number> =>
    await loss(weights.with(index, (weights[index] ?? 0) + by * step));
  const near = (await moved(1)) - (await moved(-1));
  const far = (await moved(2)) - (await moved(-2));
  return (8 * near - far) / (12 * step);
}

/** Entries of the gradient that differ from the numerical one by more than 0.5 % of the parameter's largest gradient. */
async function wrongEntries(ratios: readonly number[]): Promise<string[]> {
  const actions = chosenActions();
  const old = oldUnder(actions, ratios);
  const outputs = await run(weights, actions, old);
  const loss = async (vector: Float32Array): Promise<number> => (await run(vector, actions, old)).losses.loss;
  const wrong: string[] = [];
  for (const { name, start, length } of parameterShapes(SMALL)) {
    const gradient = Array.from({ length }, (_, i) => Number(outputs.gradient[start + i]));
    const largest = Math.max(...gradient.map(Math.abs));
    if (!(largest > 1e-4))
      wrong.push(`${name}: the largest is ${largest}, too small to be told from rounding`);
    for (const [i, exact] of gradient.entries()) {
      // Every third of a long one will do: the reference has all of them.
      if (length > 50 && i % 3 !== 0) continue;
      const estimate = await numerical(start + i, loss);
      const agrees = Math.abs(estimate - exact) <= 5e-3 * largest;
      if (!agrees) wrong.push(`${name}[${i}]: ${exact}, numerically ${estimate}`);
    }
  }
  return wrong;
}

describe('the gradient of the whole loss in every parameter', () => {
  test('is that of finite differences where the clip is inactive', async () => {
    expect(await wrongEntries([1.05, 0.95, 1.1, 0.9, 1, 1.02])).toEqual([]);
  });

  test('is that of finite differences where the clip is active on both sides', async () => {
    expect(await wrongEntries([0.67, 1.42, 1.1, 0.7, 1.5, 1.4])).toEqual([]);
  });
});

function at(list: Float32Array, i: number): number {
  return list[i] ?? 0;
}

/** Sum over the actions of row r, by their place in the batch. */
function sumOver(r: number, of: (i: number) => number): number {
  return Array.from({ length: size }, (_, a) => of(r * size + a)).reduce((a, b) => a + b, 0);
}

describe('the losses', () => {
  test('are those of the formulas', async () => {
    const actions = chosenActions();
    const ratios = [0.67, 1.42, 1.1, 0.7, 1.5, 1.4];
    const old = oldUnder(actions, ratios);
    const outputs = await run(weights, actions, old);
    const { values } = await policy.run(COUNT, rows);
    const mean = (of: (r: number) => number): number =>
      Array.from({ length: COUNT }, (_, r) => of(r)).reduce((a, b) => a + b, 0) / COUNT;
    const policyLoss = -mean((r) => {
      const held = Math.min(1.2, Math.max(0.8, ratios[r] ?? 0));
      return Math.min((ratios[r] ?? 0) * at(advantages, r), held * at(advantages, r));
    });
    const valueLoss = mean((r) => (at(values, r) - at(returns, r)) ** 2) / 2;
    const entropy = -mean((r) => sumOver(r, (i) => Math.exp(at(current, i)) * at(current, i)));
    const kl = mean((r) => sumOver(r, (i) => Math.exp(at(old, i)) * (at(old, i) - at(current, i))));
    expect(outputs.losses.policyLoss).toBeCloseTo(policyLoss, 5);
    expect(outputs.losses.valueLoss).toBeCloseTo(valueLoss, 5);
    expect(outputs.losses.entropy).toBeCloseTo(entropy, 5);
    expect(outputs.losses.kl).toBeCloseTo(kl, 5);
    expect(outputs.losses.loss).toBeCloseTo(
      policyLoss + KNOBS.value * valueLoss + KNOBS.kl * kl - KNOBS.entropy * entropy,
      5,
    );
    expect(outputs.losses.clipFraction).toBeCloseTo(5 / 6, 6);
    expect(outputs.losses.ratioDeviation).toBeCloseTo(0.5, 5);
  });

  test('KL, clip fraction and deviation are 0 under the policy itself', async () => {
    const outputs = await run(weights, chosenActions(), current);
    expect(outputs.losses.kl).toBeCloseTo(0, 6);
    expect(outputs.losses.clipFraction).toBe(0);
    expect(outputs.losses.ratioDeviation).toBeLessThan(1e-5);
  });

  test('stay finite when the old policy thought the action nearly impossible', async () => {
    const actions = chosenActions();
    const old = current.slice();
    for (const [r, action] of actions.entries()) old[r * size + action] = -50;
    const outputs = await run(weights, actions, old);
    expect(Number.isFinite(outputs.losses.loss)).toBe(true);
    expect(outputs.losses.ratioDeviation).toBeCloseTo(Math.exp(10) - 1, -1);
  });
});
