import { describe, expect, test } from 'vitest';
import { explainedVariance, normalise, writeAdvantages } from '../../../trainer/ppo/advantages.ts';

function advantages(rewards: number[], values: number[], finalValue: number, gamma: number, lambda: number) {
  const out = new Float32Array(rewards.length + 1);
  const course = { rewards: Float32Array.from(rewards), values: Float32Array.from(values), finalValue };
  writeAdvantages(course, { gamma, lambda }, out, 1);
  expect(out[0]).toBe(0);
  return [...out.subarray(1)];
}

describe('advantages', () => {
  test('of a terminated episode, by hand', () => {
    // δ = [1 + .5·3 − 2, 0 + .5·1 − 3, 4 − 1] = [.5, −2.5, 3]; A = [.5 + .25(−2.5 + .25·3), …]
    expect(advantages([1, 0, 4], [2, 3, 1], 0, 0.5, 0.5)).toEqual([0.0625, -1.75, 3]);
  });

  test('of a truncated episode go on from the value of the last observation', () => {
    expect(advantages([1, 0, 4], [2, 3, 1], 8, 0.5, 0.5)).toEqual([0.3125, -0.75, 7]);
  });

  test('with λ = 1 are the discounted return minus the value', () => {
    const [first] = advantages([1, 2, 3], [10, 20, 30], 0, 0.9, 1);
    expect(first).toBeCloseTo(1 + 0.9 * 2 + 0.81 * 3 - 10, 5);
  });

  test('with λ = 0 are the one-step errors', () => {
    expect(advantages([1, 2], [3, 5], 4, 1, 0)).toEqual([3, 1]);
  });

  test('bootstrapping makes a constant reward worth 1 / (1 − γ)', () => {
    const value = 1 / (1 - 0.9);
    for (const advantage of advantages([1, 1, 1], [value, value, value], value, 0.9, 0.95)) {
      expect(advantage).toBeCloseTo(0, 5);
    }
  });
});

describe('normalise', () => {
  test('gives mean 0 and unbiased deviation 1', () => {
    const values = Float32Array.of(1, 2, 3, 4);
    normalise(values);
    const deviation = Math.sqrt(5 / 3);
    for (const [i, value] of values.entries()) expect(value).toBeCloseTo((i - 1.5) / deviation, 5);
  });

  test('leaves neither one value nor equal ones without a number', () => {
    const [one, equal] = [Float32Array.of(5), Float32Array.of(2, 2, 2)];
    normalise(one);
    normalise(equal);
    expect([...one, ...equal]).toEqual([0, 0, 0, 0]);
  });
});

describe('explainedVariance', () => {
  test('is 1 for a perfect value, 0 for a constant one, and 0 when there is nothing to explain', () => {
    const returns = Float32Array.of(1, 2, 3);
    expect(explainedVariance(returns, returns)).toBe(1);
    expect(explainedVariance(returns, Float32Array.of(7, 7, 7))).toBeCloseTo(0, 6);
    expect(explainedVariance(Float32Array.of(1, 1), Float32Array.of(0, 3))).toBe(0);
  });
});
