import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RewardScale } from '../../../trainer/ppo/reward-scale.ts';

const paid = (...rewards: number[]) => ({ rewards: Float32Array.from(rewards) });

describe('the scale of rewards', () => {
  test('is the deviation of discounted returns, each of a whole episode', () => {
    // Returns 1 + 0.5 · 2 = 2, and 4: deviation √2.
    const scale = new RewardScale(10, 0.5).after([paid(1, 2), paid(4)]);
    expect(scale.window).toEqual([2, 4]);
    expect(scale.divisor).toBeCloseTo(Math.SQRT2, 12);
  });

  test('forgets what is older than its window', () => {
    const scale = new RewardScale(2, 1).after([paid(1000), paid(1)]).after([paid(3)]);
    expect(scale.window).toEqual([1, 3]);
    expect(scale.divisor).toBeCloseTo(Math.SQRT2, 12);
  });

  test('leaves rewards as they are when it is off, and as long as returns do not vary', () => {
    expect(new RewardScale(0, 1).after([paid(1), paid(9)])).toMatchObject({ divisor: 1, window: [] });
    expect(new RewardScale(5, 1).after([paid(7)]).divisor).toBe(1);
    expect(new RewardScale(5, 1).after([paid(7), paid(7), paid(7)]).divisor).toBe(1);
    expect(new RewardScale(5, 1).divisor).toBe(1);
  });

  test('is not changed by a batch until it is taken over', () => {
    const before = new RewardScale(5, 1, [1, 2, 3]);
    const { divisor } = before;
    before.after([paid(100)]);
    expect(before.window).toEqual([1, 2, 3]);
    expect(before.divisor).toBe(divisor);
  });

  test('goes on from its window, once it was JSON, to the same bits; a longer one is cut', () => {
    const rewards = fc.array(fc.double({ min: -1e3, max: 1e3, noNaN: true }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(
        fc.array(rewards, { maxLength: 12 }),
        fc.array(rewards, { maxLength: 12 }),
        (first, second) => {
          const then = second.map((each) => paid(...each));
          const lasting = new RewardScale(7, 0.9).after(first.map((each) => paid(...each)));
          const window: number[] = JSON.parse(JSON.stringify(lasting.window));
          const [whole, resumed] = [lasting.after(then), new RewardScale(7, 0.9, window).after(then)];
          expect(resumed.window.map((value) => value + 0)).toEqual(whole.window.map((value) => value + 0));
          expect(resumed.divisor).toBe(whole.divisor);
        },
      ),
    );
    expect(new RewardScale(2, 1, [1, 2, 3]).window).toEqual([2, 3]);
  });

  test('a reward that is no number makes a divisor that is none: the batch cannot pass for sound', () => {
    expect(new RewardScale(5, 1).after([paid(1), paid(Number.NaN)]).divisor).toBeNaN();
  });
});
