import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRandom } from '../../src/domain/random.ts';
import { BatchWindow, type WindowLimits } from '../../src/sampling/batch-window.ts';

const LIMITS: WindowLimits = { capacity: 256, minRows: 1, minWindowMs: 0, maxWindowMs: 20 };

interface Situation {
  readonly slots: number;
  readonly latencyMs: number;
  /** Cost of a call. */
  readonly fixedMs: number;
  readonly perRowMs: number;
}

interface Simulated {
  readonly meanRows: number;
  readonly meanWaitMs: number;
  /** Steps/s of what slots and latency alone would allow. */
  readonly ratio: number;
  /** Share of the time in calls. */
  readonly busy: number;
  readonly windowMs: number;
}

/** A worker whose slots wait for their tools, on a clock of its own: seconds of it in no time. */
function simulate(
  { slots, latencyMs, fixedMs, perRowMs }: Situation,
  limits = LIMITS,
  forMs = 8000,
): Simulated {
  const window = new BatchWindow(limits);
  const random = createRandom(1);
  const draw = (now: number): number => now + latencyMs * (0.8 + 0.4 * random.next());
  const back = Array.from({ length: slots }, () => draw(0)).toSorted((a, b) => a - b);
  const ready: number[] = [];
  const sums = { rows: 0, calls: 0, waitMs: 0, busyMs: 0 };
  let [now, lookedAt, left, away] = [0, 0, 0, slots];
  let since = 0;
  while (now < forMs) {
    // Its steady state is looked at.
    if (since === 0 && now > forMs / 4) {
      Object.assign(sums, { rows: 0, calls: 0, waitMs: 0, busyMs: 0 });
      since = now;
    }
    while (back.length > 0 && back[0]! <= now) ready.push(back.shift()!);
    if (now > lookedAt) {
      window.passed(now - lookedAt, away + left - back.length, back.length);
      [lookedAt, left, away] = [now, 0, back.length];
    }
    const next = back[0] ?? Number.POSITIVE_INFINITY;
    if (ready.length === 0) {
      now = next;
      continue;
    }
    const plan = window.plan({ ready: ready.length, oldestMs: now - ready[0]!, away: back.length });
    if (plan.ms > 0) {
      // The loop of a worker sleeps until there are so many; looking after each arrival comes to the same.
      now = Math.min(next, now + plan.ms);
      continue;
    }
    const rows = ready.splice(0, limits.capacity);
    const ms = fixedMs + perRowMs * rows.length;
    for (const readyAt of rows) sums.waitMs += now - readyAt;
    now += ms;
    window.called(rows.length, ms);
    for (const _ of rows) {
      const at = draw(now);
      const place = back.findIndex((each) => each > at);
      back.splice(place < 0 ? back.length : place, 0, at);
    }
    left += rows.length;
    sums.rows += rows.length;
    sums.calls++;
    sums.busyMs += ms;
  }
  return {
    meanRows: sums.rows / sums.calls,
    meanWaitMs: sums.waitMs / sums.rows,
    ratio: sums.rows / (now - since) / (slots / latencyMs),
    busy: sums.busyMs / (now - since),
    windowMs: window.windowMs,
  };
}

const SLOW_TOOLS: Situation = { slots: 1000, latencyMs: 300, fixedMs: 0.5, perRowMs: 0.02 };

/** A window that has seen calls and arrivals. */
const seen = fc
  .record({
    limits: fc.record({
      capacity: fc.integer({ min: 1, max: 512 }),
      minRows: fc.integer({ min: 1, max: 512 }),
      minWindowMs: fc.double({ min: 0, max: 50, noNaN: true }),
      maxWindowMs: fc.double({ min: 0, max: 50, noNaN: true }),
    }),
    calls: fc.array(fc.tuple(fc.integer({ min: 1, max: 512 }), fc.double({ min: 0, max: 500, noNaN: true }))),
    passed: fc.array(
      fc.tuple(
        fc.double({ min: 0, max: 5000, noNaN: true }),
        fc.integer({ min: 0, max: 5000 }),
        fc.integer({ min: 0, max: 5000 }),
      ),
    ),
  })
  .map(({ limits, calls, passed }) => {
    const sorted = { ...limits, minWindowMs: Math.min(limits.minWindowMs, limits.maxWindowMs) };
    const window = new BatchWindow(sorted);
    for (const [rows, ms] of calls) window.called(rows, ms);
    for (const [ms, arrived, away] of passed) window.passed(ms, arrived, away);
    return { window, limits: sorted };
  });
const count = fc.integer({ min: 0, max: 6000 });
const waited = fc.double({ min: 0, max: 100, noNaN: true });

describe('the window in which a batch gathers', () => {
  test('is never longer than the config allows, what was waited included', () => {
    fc.assert(
      fc.property(seen, count, count, waited, ({ window, limits }, ready, away, oldestMs) => {
        const { ms, rows } = window.plan({ ready, away, oldestMs });
        expect(window.windowMs).toBeLessThanOrEqual(limits.maxWindowMs);
        expect(ms).toBeGreaterThanOrEqual(0);
        if (ms === 0) return;
        expect(ms + oldestMs).toBeLessThanOrEqual(limits.maxWindowMs + 1e-9);
        // Only for what may come, and for what a call has room for.
        expect(rows).toBeGreaterThan(ready);
        expect(rows).toBeLessThanOrEqual(Math.min(limits.capacity, ready + away));
      }),
    );
  });

  test('a full batch never waits, and where no environment is at work nothing waits', () => {
    fc.assert(
      fc.property(seen, count, count, ({ window, limits }, ready, away) => {
        const full = { ready: limits.capacity + ready, away, oldestMs: 0 };
        expect(window.plan(full).ms).toBe(0);
        expect(window.plan({ ready, away: 0, oldestMs: 0 }).ms).toBe(0);
      }),
    );
  });

  test('before anything is known nothing waits, but for the least that the config asks for', () => {
    expect(new BatchWindow(LIMITS).plan({ ready: 1, away: 99, oldestMs: 0 }).ms).toBe(0);
    const patient = new BatchWindow({ ...LIMITS, minWindowMs: 5, minRows: 10 });
    expect(patient.plan({ ready: 1, away: 99, oldestMs: 2 })).toEqual({ ms: 3, rows: 10 });
  });

  test('with slow tools, calls are fewer and larger for a hundredth of the throughput', () => {
    const never = simulate(SLOW_TOOLS, { ...LIMITS, maxWindowMs: 0 });
    const window = simulate(SLOW_TOOLS);
    expect(window.busy).toBeLessThan(0.5 * never.busy);
    expect(window.meanRows).toBeGreaterThan(3 * never.meanRows);
    expect(window.ratio).toBeGreaterThan(never.ratio - 0.015);
    expect(window.ratio).toBeGreaterThan(0.98);
  });

  test('the window follows the cost of a call and the latency of tools', () => {
    const { windowMs } = simulate(SLOW_TOOLS);
    const expected = Math.sqrt((2 * 0.5 * 300) / 16) - 0.3;
    expect(windowMs).toBeGreaterThan(0.8 * expected);
    expect(windowMs).toBeLessThan(1.2 * expected);
    const dear = simulate({ ...SLOW_TOOLS, fixedMs: 2 }).windowMs;
    expect(dear / windowMs).toBeGreaterThan(1.6);
    const slower = simulate({ ...SLOW_TOOLS, slots: 4000, latencyMs: 1200 }).windowMs;
    expect(slower / windowMs).toBeGreaterThan(1.6);
  });

  test('it is no longer where calls are much alike: what their rows cost is not taken for what a call costs', () => {
    const { windowMs, ratio } = simulate({ slots: 3500, latencyMs: 300, fixedMs: 0.5, perRowMs: 0.065 });
    const expected = Math.sqrt((2 * 0.5 * 300) / 16);
    expect(windowMs).toBeLessThan(1.3 * expected);
    expect(ratio).toBeGreaterThan(0.977);
  });

  test('where fewer than one more is to be expected, nothing waits', () => {
    expect(simulate({ ...SLOW_TOOLS, slots: 8 })).toMatchObject({ windowMs: 0 });
  });

  test('a worker at its limit makes full calls and waits for none', () => {
    const busy = simulate({ slots: 3000, latencyMs: 100, fixedMs: 1, perRowMs: 0.1 });
    expect(busy.busy).toBeGreaterThan(0.99);
    expect(busy.meanRows).toBeGreaterThan(250);
  });

  test('calls of 50 ms beside tools of 500 ms: inference has no rest while anything is ready', () => {
    const turns = simulate({ slots: 450, latencyMs: 500, fixedMs: 10, perRowMs: 1 });
    expect(turns.busy).toBeGreaterThan(0.99);
    // Who comes in the middle of a call waits for its end: half a call in the mean.
    expect(turns.meanWaitMs).toBeLessThan(0.6 * (10 + turns.meanRows));
  });

  test('fewest rows are waited for as long as the longest window lets it', () => {
    const few = simulate(SLOW_TOOLS, { ...LIMITS, minRows: 40 });
    expect(few.meanRows).toBeGreaterThan(35);
    const short = simulate(SLOW_TOOLS, { ...LIMITS, minRows: 200, maxWindowMs: 3 });
    expect(short.windowMs).toBe(3);
    expect(short.meanRows).toBeLessThan(40);
  });
});
