import type { PolicySpec } from '../src/domain/policy-spec.ts';
import { bytesOf } from '../src/protocol/frame.ts';
import type { WorkerSettings } from '../src/protocol/worker.ts';
import { initialWeights } from '../trainer/policy/parameters.ts';
import { sleep } from './benchmark.ts';
import { driveWorker, type ReportSum } from './worker-driver.ts';

/** What real worker processes are to do, and for how long they are watched. */
export interface SamplingPlan {
  readonly settings: Omit<WorkerSettings, 'worker' | 'host' | 'slots'>;
  readonly policy: PolicySpec;
  readonly slots: number;
  readonly workers: number;
  /** The family that tasks are taken from; null: all in turn. */
  readonly family: string | null;
  readonly warmUpS: number;
  readonly seconds: number;
}

/** What they did meanwhile; sums over the workers. */
export interface Sampled {
  readonly slots: number;
  readonly stepsPerS: number;
  readonly episodesPerS: number;
  /** Means, ms; rows of a call. */
  readonly rows: number;
  readonly inferenceMs: number;
  readonly callMs: number;
  readonly waitMs: number;
  /** At the end; the longest of the workers. */
  readonly windowMs: number;
  /** Share of the time of all slots in which they had no episode. */
  readonly idleShare: number;
  /** Shares of wall-clock in which no call was under way although an observation waited: by the window, and beyond it. */
  readonly gatherShare: number;
  readonly lateShare: number;
  /** CPU time by wall-clock, all workers. */
  readonly cores: number | null;
}

/** Drives workers as a run process would that answers at once, and measures them in their steady state. */
export async function sampleFor(plan: SamplingPlan): Promise<Sampled> {
  const { settings, policy, workers, slots } = plan;
  const weights = bytesOf(initialWeights(policy, 1));
  const driven = await Promise.all(
    Array.from({ length: workers }, async (_, worker) => {
      const own = { ...settings, policy, worker, host: 'local', slots: Math.floor(slots / workers) };
      return await driveWorker(own, weights, undefined, 'at once', plan.family);
    }),
  );
  await sleep(plan.warmUpS * 1000);
  for (const worker of driven) worker.resetTotals();
  const cpuBefore = driven.map((worker) => worker.cpuSeconds() ?? Number.NaN);
  const started = performance.now();
  await sleep(plan.seconds * 1000);
  const elapsedS = (performance.now() - started) / 1000;
  const cpu = driven.reduce(
    (all, worker, index) => all + (worker.cpuSeconds() ?? Number.NaN) - (cpuBefore[index] ?? Number.NaN),
    0,
  );
  const totals = driven.map((worker) => worker.totals());
  const episodes = driven.reduce((all, worker) => all + worker.episodes(), 0);
  await Promise.all(driven.map(async (worker) => await worker.stop()));
  const sum = (field: ReportSum): number => totals.reduce((all, report) => all + report[field], 0);
  const wallMs = sum('wallMs');
  // By the time that the reports cover: they come every half second, whenever that is.
  const stepsPerS = (sum('steps') * 1000 * workers) / wallMs;
  return {
    slots: Math.floor(slots / workers) * workers,
    stepsPerS,
    episodesPerS: episodes / elapsedS,
    rows: sum('steps') / sum('inferenceCalls'),
    inferenceMs: sum('inferenceMs') / sum('inferenceCalls'),
    callMs: (sum('encodeMs') + sum('inferenceMs') + sum('stepMs')) / sum('inferenceCalls'),
    waitMs: sum('waitMs') / sum('steps'),
    windowMs: Math.max(...totals.map(({ windowMs }) => windowMs)),
    idleShare: sum('freeMs') / (wallMs * Math.floor(slots / workers)),
    gatherShare: sum('gatherMs') / wallMs,
    lateShare: sum('lateMs') / wallMs,
    cores: Number.isNaN(cpu) ? null : cpu / elapsedS,
  };
}
