import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_REWARDS } from '../../src/domain/default-rewards.ts';
import { createAggregator } from '../../src/rewards/aggregator.ts';
import { PENALTIES } from '../../src/rewards/penalties.ts';

const RULES = {
  bonus: { weight: 0.5, cap: 1 },
  fine: { weight: -0.1, cap: 0.25 },
  free: { weight: 2, cap: null },
  off: { weight: 0, cap: null },
};

describe('the reward aggregator', () => {
  test('pays raw times weight, and says how each part came about', () => {
    expect(createAggregator(RULES).pay({ bonus: 1, free: -1 }, { fine: 1 })).toEqual({
      reward: 0.5 - 2 - 0.1,
      parts: [
        { name: 'bonus', raw: 1, weighted: 0.5, paid: 0.5 },
        { name: 'free', raw: -1, weighted: -2, paid: -2 },
        { name: 'fine', raw: 1, weighted: -0.1, paid: -0.1 },
      ],
    });
  });

  test('pays no more than the cap over an episode, and again in the next one', () => {
    const aggregator = createAggregator(RULES);
    expect([1, 1, 1].map((raw) => aggregator.pay({ bonus: raw }).reward)).toEqual([0.5, 0.5, 0]);
    expect(aggregator.totals()).toEqual({ bonus: 1 });
    aggregator.reset();
    expect(aggregator.totals()).toEqual({});
    expect(aggregator.pay({ bonus: 1 }).reward).toBe(0.5);
  });

  test('a payment that passes the cap is paid in part', () => {
    const aggregator = createAggregator(RULES);
    aggregator.pay({ fine: 2 });
    expect(aggregator.pay({ fine: 1 }).parts).toEqual([
      { name: 'fine', raw: 1, weighted: -0.1, paid: expect.closeTo(-0.05) },
    ]);
  });

  test('a component that alternates does not escape its cap', () => {
    const aggregator = createAggregator(RULES);
    expect([1, -1, 1, -1].map((raw) => aggregator.pay({ bonus: raw }).reward)).toEqual([0.5, -0.5, 0, 0]);
  });

  test('a component with weight 0 is recorded and pays nothing', () => {
    const [part] = createAggregator(RULES).pay({ off: 3 }).parts;
    expect(part).toMatchObject({ name: 'off', raw: 3 });
    expect(part?.paid).toBeCloseTo(0);
  });

  test('a raw value of 0 leaves no part', () => {
    expect(createAggregator(RULES).pay({ bonus: 0 })).toEqual({ reward: 0, parts: [] });
  });

  test('a component without a rule is refused with those that have one', () => {
    expect(() => createAggregator(RULES).pay({ bonsu: 1 })).toThrow(
      expect.objectContaining({
        code: 'environment-invalid',
        message: 'reward component "bonsu" has no rule; there are rules for: bonus, fine, free, off',
      }),
    );
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('a raw value of %d is refused', (raw) => {
    expect(() => createAggregator(RULES).pay({ bonus: raw })).toThrow(
      `reward component "bonus" is ${raw}; a raw component is a finite number`,
    );
  });

  test('whatever is paid, no component passes its cap, and rewards are the sum of the totals', () => {
    const component = fc.record({
      name: fc.constantFrom('bonus', 'fine', 'free'),
      raw: fc.double({ min: -5, max: 5, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(component, { maxLength: 40 }), (payments) => {
        const aggregator = createAggregator(RULES);
        const spent = { bonus: 0, fine: 0, free: 0 };
        let reward = 0;
        for (const { name, raw } of payments) {
          const payment = aggregator.pay({ [name]: raw });
          reward += payment.reward;
          spent[name] += Math.abs(payment.reward);
        }
        expect(spent.bonus).toBeLessThanOrEqual(1 + 1e-9);
        expect(spent.fine).toBeLessThanOrEqual(0.25 + 1e-9);
        expect(Object.values(aggregator.totals()).reduce((sum, total) => sum + total, 0)).toBeCloseTo(reward);
      }),
    );
  });

  test('there is a default rule for every penalty', () => {
    expect(Object.keys(DEFAULT_REWARDS)).toEqual(expect.arrayContaining([...PENALTIES]));
  });
});
