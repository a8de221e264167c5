import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Pacer } from '../../src/sampling/pacer.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const SLICE = 100;

/** A loop that makes slices of 100 steps, each of `busyMs` and after a wait of `waitMs`, for so long. Returns steps per ms. */
function loop(pacer: Pacer, ms: number, { busyMs, waitMs = 0 }: { busyMs: number; waitMs?: number }): number {
  const began = performance.now();
  let steps = 0;
  while (performance.now() - began < ms) {
    // What is waited for comes while the loop rests, too.
    const ready = performance.now() + waitMs;
    while (pacer.resting || performance.now() < ready) vi.advanceTimersByTime(1);
    vi.advanceTimersByTime(busyMs);
    pacer.stepped(SLICE);
    steps += SLICE;
  }
  return steps / (performance.now() - began);
}

describe('the pace of a worker', () => {
  it('does nothing at full speed', () => {
    const pacer = new Pacer(() => expect.unreachable());
    expect(loop(pacer, 1000, { busyMs: 10 })).toBeCloseTo(10);
    expect(pacer.resting).toBe(false);
  });

  it.each([0.75, 0.5, 0.125])('is %s of full speed where the loop is always busy', (pace) => {
    let restedMs = 0;
    const pacer = new Pacer((ms) => {
      restedMs += ms;
    });
    const full = loop(pacer, 2000, { busyMs: 10 });
    pacer.setPace(pace);
    const slow = loop(pacer, 10_000, { busyMs: 10 });
    expect(slow / full).toBeCloseTo(pace, 1);
    expect(restedMs / 10_000).toBeCloseTo(1 - pace, 1);
  });

  it('and where it mostly waits for environments, which rests alone would not slow down', () => {
    const pacer = new Pacer(() => undefined);
    const full = loop(pacer, 2000, { busyMs: 10, waitMs: 90 });
    expect(full).toBeCloseTo(1);
    pacer.setPace(0.25);
    expect(loop(pacer, 20_000, { busyMs: 10, waitMs: 90 }) / full).toBeCloseTo(0.25, 1);
  });

  it('goes by the slice itself before full speed was ever measured', () => {
    const pacer = new Pacer(() => undefined);
    pacer.setPace(0.5);
    expect(loop(pacer, 4000, { busyMs: 10 })).toBeCloseTo(5, 0);
  });

  it('a rest ends at once for another pace, and when stepping stands still for another reason', () => {
    const rests: number[] = [];
    const pacer = new Pacer((ms) => {
      rests.push(ms);
    });
    loop(pacer, 1000, { busyMs: 10 });
    pacer.setPace(0.1);
    loop(pacer, 10, { busyMs: 10 });
    expect(pacer.resting).toBe(true);
    vi.advanceTimersByTime(20);
    pacer.interrupt();
    expect(pacer.resting).toBe(false);
    expect(rests).toEqual([20]);
    loop(pacer, 10, { busyMs: 10 });
    pacer.setPace(1);
    expect(pacer.resting).toBe(false);
    vi.advanceTimersByTime(1000);
    expect(rests).toHaveLength(2);
  });

  it('does not make up for a time in which nothing moved', () => {
    const pacer = new Pacer(() => undefined);
    loop(pacer, 2000, { busyMs: 10 });
    pacer.setPace(0.5);
    loop(pacer, 1000, { busyMs: 10 });
    pacer.interrupt();
    vi.advanceTimersByTime(60_000);
    pacer.interrupt();
    expect(loop(pacer, 1000, { busyMs: 10 })).toBeCloseTo(5, 0);
  });
});
