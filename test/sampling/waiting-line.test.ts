import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LoopClock } from '../../src/sampling/loop-clock.ts';
import { WaitingLine } from '../../src/sampling/waiting-line.ts';

describe('a line of what waits', () => {
  test('what all have waited is what each has, added up, whatever comes and goes', () => {
    const event = fc.record({
      afterMs: fc.integer({ min: 0, max: 50 }),
      what: fc.constantFrom('push', 'pop', 'shift', 'look'),
      most: fc.integer({ min: 0, max: 5 }),
    });
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const line = new WaitingLine<number>();
        const since: number[] = [];
        const pairs: [unknown, unknown][] = [];
        let [now, looked, waited] = [0, 0, 0];
        const leave = (each: number | undefined): void => {
          if (each !== undefined) waited += now - each;
        };
        for (const { afterMs, what, most } of events) {
          now += afterMs;
          if (what === 'push') {
            line.push(now, now);
            since.push(now);
          } else if (what === 'pop') {
            const last = since.pop();
            pairs.push([line.pop(now), last]);
            leave(last);
          } else if (what === 'shift') {
            const left = since.splice(0, most);
            pairs.push([line.shift(most, now), left]);
            for (const each of left) leave(each);
          } else looked += line.takeWaited(now);
          expect(line.length).toBe(since.length);
          // An upper bound, so that nobody waits for longer than the window.
          expect(line.oldestMs(now)).toBeGreaterThanOrEqual(since.length === 0 ? 0 : now - since[0]!);
        }
        for (const each of since) leave(each);
        expect(pairs.map(([got]) => got)).toEqual(pairs.map(([, wanted]) => wanted));
        expect(looked + line.takeWaited(now)).toBeCloseTo(waited, 6);
      }),
    );
  });

  test('the first of a line that was empty has waited since it came', () => {
    const line = new WaitingLine<string>();
    expect(line.oldestMs(7)).toBe(0);
    line.push('a', 10);
    line.push('b', 15);
    expect(line.oldestMs(20)).toBe(10);
    line.shift(9, 20);
    line.push('c', 30);
    expect(line.oldestMs(31)).toBe(1);
  });
});

describe('the clock of the loop', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('tells the time of the last tick within a turn, and of the moment while events are awaited', () => {
    const clock = new LoopClock();
    const began = clock.tick();
    vi.advanceTimersByTime(5);
    expect(clock.now - began).toBe(0);
    expect(clock.tick() - began).toBe(5);
    clock.setAwaiting(true);
    vi.advanceTimersByTime(3);
    expect(clock.now - began).toBe(8);
    clock.setAwaiting(false);
    vi.advanceTimersByTime(3);
    expect(clock.now - began).toBe(8);
  });

  test('stands still while the worker is held, and goes on from there', () => {
    const clock = new LoopClock();
    const began = clock.tick();
    vi.advanceTimersByTime(10);
    clock.stand();
    vi.advanceTimersByTime(100);
    clock.stand();
    vi.advanceTimersByTime(100);
    expect(clock.tick() - began).toBe(10);
    clock.go();
    vi.advanceTimersByTime(1);
    expect(clock.tick() - began).toBe(11);
  });
});
