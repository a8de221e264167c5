import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CANDIDATE_TOKENS } from '../../../src/domain/policy-spec.ts';
import { createRandom } from '../../../src/domain/random.ts';
import { createPolicy, type Policy } from '../../../trainer/policy/inference.ts';
import {
  initialWeights,
  parameterCount,
  parameterShapes,
  splitWeights,
} from '../../../trainer/policy/parameters.ts';
import { randomRows, SMALL, SMALL_LAYOUT } from '../small-policy.ts';

let policy: Policy;
beforeAll(async () => {
  policy = await createPolicy(SMALL, { threads: 1 });
  policy.load(initialWeights(SMALL, 7));
});
afterAll(async () => await policy.close());

const { size, slots, blocks } = SMALL_LAYOUT;
const width = SMALL.sentences * SMALL.tokens;

function probabilities(row: Float32Array, from: number, to: number): number {
  return row.subarray(from, to).reduce((sum, value) => sum + Math.exp(value), 0);
}

describe('weights', () => {
  test('lie in one vector without gaps', () => {
    let next = 0;
    for (const { start, length, shape } of parameterShapes(SMALL)) {
      expect(start).toBe(next);
      expect(length).toBe(shape.reduce((product, dim) => product * dim, 1));
      next += length;
    }
    expect(next).toBe(parameterCount(SMALL));
  });

  test('are a function of the seed', () => {
    expect(initialWeights(SMALL, 1)).toEqual(initialWeights(SMALL, 1));
    expect(initialWeights(SMALL, 1)).not.toEqual(initialWeights(SMALL, 2));
  });

  test('of another policy are refused', () => {
    expect(() => splitWeights(SMALL, new Float32Array(3))).toThrow(
      `got 3 weights, and this policy has ${parameterCount(SMALL)}`,
    );
    expect(() => policy.load(new Float32Array(3))).toThrow('got 3 weights');
  });
});

describe('the policy', () => {
  test('is a distribution over the legal actions, nearly uniform over the types at first', async () => {
    const rows = randomRows(SMALL, 9, createRandom(1));
    const { logProbabilities, values } = await policy.run(9, rows);
    expect(values).toHaveLength(9);
    for (let r = 0; r < 9; r++) {
      const row = logProbabilities.subarray(r * size, (r + 1) * size);
      const mask = rows.mask.subarray(r * size, (r + 1) * size);
      expect(probabilities(row, 0, size)).toBeCloseTo(1, 5);
      for (const [action, legal] of mask.entries()) {
        const value = row[action] ?? 0;
        expect(legal === 0 ? value === -50 : value > -5).toBe(true);
      }
      const types = Object.values(blocks).filter(({ start, length }) =>
        mask.subarray(start, start + length).includes(1),
      );
      const bare = mask.subarray(slots).filter((legal) => legal === 1).length;
      for (const { start, length } of types) {
        expect(Math.abs(probabilities(row, start, start + length) - 1 / (types.length + bare))).toBeLessThan(
          0.1,
        );
      }
    }
  });

  test('answers a row the same in any batch', async () => {
    const rows = randomRows(SMALL, 6, createRandom(2));
    const all = await policy.run(6, rows);
    const one = await policy.run(1, {
      tokens: rows.tokens.subarray(4 * width),
      candidates: rows.candidates.subarray(4 * slots * CANDIDATE_TOKENS),
      mask: rows.mask.subarray(4 * size),
    });
    for (let i = 0; i < size; i++) {
      expect(one.logProbabilities[i]).toBeCloseTo(all.logProbabilities[4 * size + i] ?? 0, 5);
    }
    expect(one.values[0]).toBeCloseTo(all.values[4] ?? 0, 5);
  });

  test('padding contributes nothing, and the order of words counts', async () => {
    const { tokens, candidates, mask } = randomRows(SMALL, 3, createRandom(3));
    tokens.copyWithin(width, 0, width).copyWithin(2 * width, 0, width);
    tokens.set([5, 6, 0, 0], 0);
    tokens.set([6, 5, 0, 0], width);
    tokens.set([5, 6, 0, 0], 2 * width);
    candidates.copyWithin(slots * CANDIDATE_TOKENS, 0, slots * CANDIDATE_TOKENS);
    candidates.copyWithin(2 * slots * CANDIDATE_TOKENS, 0, slots * CANDIDATE_TOKENS);
    const before = await policy.run(3, { tokens, candidates, mask });
    expect(before.values[0]).toBe(before.values[2]);
    expect(before.values[0]).not.toBeCloseTo(before.values[1] ?? 0, 4);
    const weights = initialWeights(SMALL, 7);
    splitWeights(SMALL, weights)['embedding']?.fill(3, 0, SMALL.embedding);
    policy.load(weights);
    const after = await policy.run(3, { tokens, candidates, mask });
    policy.load(initialWeights(SMALL, 7));
    expect(after.values).toEqual(before.values);
  });
});
