import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../src/domain/random.ts';
import { findOutliers, SlotUsage } from '../../src/sampling/slot-usage.ts';

const BOUND = { least: 10, factor: 4 };

describe('a slot that is out of line', () => {
  it('is found however the others scatter, and is the only one', () => {
    const values = fc.array(fc.double({ min: 0, max: 50, noNaN: true }), { minLength: 15, maxLength: 300 });
    fc.assert(
      fc.property(values, fc.nat(), (others, at) => {
        const index = at % others.length;
        const found = findOutliers(others.with(index, 1e6), BOUND);
        expect(found.map((outlier) => outlier.index)).toContain(index);
        for (const { value, median } of found) {
          expect(value).toBeGreaterThanOrEqual(median + BOUND.least);
          expect(value).toBeGreaterThanOrEqual(median * BOUND.factor);
        }
      }),
    );
  });

  it('is none by a small difference, by noise, or among too few', () => {
    expect(findOutliers([0, 0, 0, 0, 0, 0, 0, 0, 9], BOUND)).toEqual([]);
    expect(findOutliers([1, 1e9], BOUND)).toEqual([]);
    expect(findOutliers([], BOUND)).toEqual([]);
    const random = createRandom(3);
    for (let round = 0; round < 50; round++) {
      const exponential = Array.from({ length: 200 }, () => -20 * Math.log(1 - random.next()));
      expect(findOutliers(exponential, { least: 100, factor: 5 }).length).toBeLessThanOrEqual(6);
    }
  });
});

function ticks(slot: number, count: number): Int32Array {
  return new Int32Array(16).fill(1).with(slot, count);
}

describe('the use of slots', () => {
  it('is told once, after two windows out of line, and again after it was in line', () => {
    const usage = new SlotUsage(16, 0);
    const look = (window: number, count: number): number[] =>
      usage.addTicks(ticks(5, count), window * 5000).map(({ slot }) => slot);
    expect([1, 2, 3, 4, 5, 6].map((window) => look(window, window === 4 ? 1 : 100))).toEqual([
      [],
      [5],
      [],
      [],
      [],
      [5],
    ]);
  });

  it('is CPU time in cores, whatever the length of the window', () => {
    const usage = new SlotUsage(16, 0);
    usage.addTicks(ticks(2, 100), 4000);
    usage.addTicks(ticks(2, 100), 20_000);
    // 200 looks of 50 ms in 20 s.
    expect(usage.cpu(2)).toBeCloseTo(0.5, 6);
  });
});
