import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRandom } from '../../../src/domain/random.ts';
import { ActionChoice, chooseAction } from '../../../trainer/policy/sample-action.ts';

const logs = (...probabilities: number[]): Float32Array => Float32Array.from(probabilities, Math.log);

describe('chooseAction', () => {
  test('draws each action as often as its probability says', () => {
    const row = logs(0.1, 0.6, 0.3);
    const random = createRandom(3);
    const counts = [0, 0, 0];
    for (let i = 0; i < 20_000; i++)
      counts[chooseAction(row, Float32Array.of(1, 1, 1), 'sampled', random)]!++;
    expect(counts.map((count) => count / 20_000)).toEqual([
      expect.closeTo(0.1, 1),
      expect.closeTo(0.6, 1),
      expect.closeTo(0.3, 1),
    ]);
  });

  test('takes exactly one number of the stream when sampling and none when greedy', () => {
    const [used, reference] = [createRandom(5), createRandom(5)];
    chooseAction(logs(0.5, 0.5), Float32Array.of(1, 1), 'sampled', used);
    reference.next();
    expect(used.getState()).toEqual(reference.getState());
    chooseAction(logs(0.5, 0.5), Float32Array.of(1, 1), 'greedy', used);
    expect(used.getState()).toEqual(reference.getState());
  });

  test('greedy takes the first of the most probable', () => {
    expect(chooseAction(logs(0.2, 0.4, 0.4), Float32Array.of(1, 1, 1), 'greedy', createRandom(1))).toBe(1);
    expect(chooseAction(logs(0.2, 0.4, 0.4), Float32Array.of(1, 0, 1), 'greedy', createRandom(1))).toBe(2);
  });

  test('never takes an illegal action', () => {
    const arbitrary = fc.array(
      fc.record({ log: fc.double({ min: -60, max: 0, noNaN: true }), legal: fc.boolean() }),
      {
        minLength: 1,
        maxLength: 30,
      },
    );
    fc.assert(
      fc.property(
        arbitrary,
        fc.integer(),
        fc.constantFrom('sampled' as const, 'greedy' as const),
        (row, seed, mode) => {
          fc.pre(row.some(({ legal }) => legal));
          const mask = Float32Array.from(row, ({ legal }) => (legal ? 1 : 0));
          const chosen = chooseAction(
            Float32Array.from(row, ({ log }) => log),
            mask,
            mode,
            createRandom(seed),
          );
          expect(mask[chosen]).toBe(1);
        },
      ),
    );
  });

  test('an observation without a legal action is an error of the environment', () => {
    for (const mode of ['sampled', 'greedy'] as const) {
      expect(() => chooseAction(logs(1), Float32Array.of(0), mode, createRandom(1))).toThrow(
        'offers no action at all',
      );
    }
  });
});

describe('ActionChoice', () => {
  test('entropy counts legal actions only, from where the row begins', () => {
    const choice = new ActionChoice(3);
    const entropyAt = (at: number): number => {
      choice.read({
        logProbabilities: logs(0.5, 0.5, 1, 0.2, 0.3, 1),
        mask: Float32Array.of(1, 1, 0, 0, 0, 1),
        at,
      });
      return choice.entropy();
    };
    expect(entropyAt(0)).toBeCloseTo(Math.log(2), 6);
    expect(entropyAt(3)).toBeCloseTo(0, 12);
  });

  test('the row before is forgotten', () => {
    const choice = new ActionChoice(2);
    choice.read({ logProbabilities: logs(0.5, 0.5), mask: Float32Array.of(1, 1), at: 0 });
    choice.read({ logProbabilities: logs(0.9, 0.7), mask: Float32Array.of(0, 1), at: 0 });
    expect([choice.count, choice.index(0), choice.probability(0)]).toEqual([1, 1, expect.closeTo(0.7, 6)]);
    expect(choice.choose('sampled', createRandom(1))).toBe(0);
  });
});
