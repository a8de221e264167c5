import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { batchingSchema } from '../../src/domain/pipeline.ts';
import type { WorkerReport } from '../../src/protocol/worker.ts';
import { RecentReports } from '../../src/run/recent-reports.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function report(steps: number, inferenceCalls: number, waitMs: number, inferenceMs: number): WorkerReport {
  const rest = { encodeMs: 0, stepMs: 0, recordMs: 0, idleMs: 0, gatherMs: 0, lateMs: 0, freeMs: 0 };
  return {
    ...rest,
    wallMs: 500,
    steps,
    inferenceCalls,
    waitMs,
    inferenceMs,
    windowMs: 3,
    busySlots: 1,
    rssMiB: 1,
  };
}

test('means are over the observations and the calls of all workers, of the last three seconds', () => {
  const recent = new RecentReports();
  recent.add(report(9999, 1, 9999, 9999));
  vi.advanceTimersByTime(2000);
  recent.add(report(100, 4, 300, 8));
  vi.advanceTimersByTime(1500);
  recent.add(report(200, 2, 300, 10));
  expect(recent.batching(256, 3)).toEqual({
    rows: 50,
    capacity: 256,
    waitMs: 2,
    windowMs: 3,
    inferenceMs: 3,
  });
  expect(recent.stepsPerS()).toBe(100);
});

test('where no call was made there is no mean', () => {
  const recent = new RecentReports();
  recent.add(report(0, 0, 0, 0));
  expect(batchingSchema.parse(recent.batching(8, 0))).toEqual({
    rows: null,
    capacity: 8,
    waitMs: null,
    windowMs: 0,
    inferenceMs: null,
  });
});
