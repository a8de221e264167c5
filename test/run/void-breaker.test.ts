import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VoidBreaker } from '../../src/run/void-breaker.ts';

/** The episode (from 1) at which it trips, if it does. */
function tripsAt(breaker: VoidBreaker, episodes: readonly boolean[]): number | null {
  const at = episodes.findIndex((isVoid) => breaker.observe(isVoid, null) !== null);
  return at < 0 ? null : at + 1;
}

function many(count: number, isVoid: boolean): boolean[] {
  return Array.from({ length: count }, () => isVoid);
}

describe('the breaker of void episodes', () => {
  it('looks at the newest ones, wherever among all of them they begin', () => {
    const breaker = new VoidBreaker({ voidShare: 0.5, voidWindow: 200 }, 64);
    // Two blocks of 200 would see 40 % and 45 % here.
    expect(tripsAt(breaker, [...many(120, false), ...many(80, true)])).toBeNull();
    expect(tripsAt(breaker, many(90, true))).toBe(21);
  });

  it('does not wait for the window to fill when the limit is passed whatever comes', () => {
    const breaker = new VoidBreaker({ voidShare: 0.5, voidWindow: 200 }, 64);
    for (let episode = 0; episode < 100; episode++) expect(breaker.observe(true, 'no disk')).toBeNull();
    expect(breaker.observe(true, 'no disk')).toBe(
      '100 % of the last 101 episodes are void; the newest: no disk',
    );
  });

  it('bears it when the hung ones of many slots end in a row, while nothing else does', () => {
    const breaker = new VoidBreaker({ voidShare: 0.5, voidWindow: 200 }, 7000);
    for (let update = 0; update < 10; update++) {
      expect(tripsAt(breaker, [...many(400, true), ...many(2000, false)])).toBeNull();
    }
    expect(tripsAt(breaker, many(7000, true))).not.toBeNull();
  });

  it('counts from the start after it tripped, or was reset', () => {
    const breaker = new VoidBreaker({ voidShare: 0.5, voidWindow: 10 }, 1);
    expect(tripsAt(breaker, many(6, true))).toBe(6);
    expect(tripsAt(breaker, many(5, true))).toBeNull();
    breaker.reset();
    expect(tripsAt(breaker, many(6, true))).toBe(6);
  });

  it('trips exactly when more than the share of a window is void', () => {
    const share = fc.constantFrom(0.1, 0.25, 0.5, 0.9, 1);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        share,
        fc.array(fc.boolean()),
        (window, limit, episodes) => {
          const expected = episodes.findIndex((_, index) => {
            const newest = episodes.slice(Math.max(0, index + 1 - window), index + 1);
            return newest.filter(Boolean).length > limit * window;
          });
          const breaker = new VoidBreaker({ voidShare: limit, voidWindow: window }, 1);
          expect(tripsAt(breaker, episodes)).toBe(expected < 0 ? null : expected + 1);
        },
      ),
    );
  });
});
