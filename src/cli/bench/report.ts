import type { Histogram } from '../../domain/histogram.ts';
import type { BenchDriver, DriveEnd } from './driver.ts';
import { computingShare, type Limit, rankShares, type TimeShares, timeShares } from './limit.ts';
import type { Results } from './tally.ts';
import type { WorkerUse } from './worker-use.ts';

/** Lengths of one stage, in ms. */
export interface StageReport {
  readonly calls: number;
  readonly meanMs: number | null;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number | null;
}

export interface WorkerRow {
  readonly worker: string;
  readonly slots: number;
  readonly tasks: number;
  readonly steps: number;
  /** CPU time by wall time. */
  readonly cores: number | null;
  readonly peakRssMiB: number | null;
  readonly emptyRssMiB: number | null;
  /** Peak less empty, by slots. */
  readonly slotKiB: number | null;
}

/** How actions were asked for, over all workers; null where nothing was. */
export interface AskingReport {
  /** Observations in a call: mean. */
  readonly rows: number | null;
  /** How long an observation waited for its call: mean. */
  readonly waitMs: number | null;
  /** Share of the slots' time in which they had no task although there were some. */
  readonly idleSlots: number | null;
}

/** All that a bench has found; with `--json` it is printed as it stands. */
export interface BenchReport extends Results {
  /** Both null when no worker came up. */
  readonly env: string | null;
  readonly version: string | null;
  readonly end: DriveEnd['kind'];
  readonly reason: string | null;
  readonly wanted: number;
  readonly startS: number;
  readonly elapsedS: number;
  readonly stepsPerS: number;
  readonly tasksPerS: number;
  readonly stages: Readonly<Record<'task' | 'reset' | 'step', StageReport>>;
  readonly workers: readonly WorkerRow[];
  readonly deadWorkers: readonly string[];
  readonly asking: AskingReport;
  /** This process: the part of the time that its event loop was at work, and CPU time by wall time. */
  readonly runSide: { readonly busy: number; readonly cores: number };
  readonly limitedBy: Limit | null;
  readonly timeShares: TimeShares | null;
  /** The workers' time that these are shares of, all workers together. */
  readonly measuredS: number;
  /** CPU time of the workers by the time in which they were not idle, 1 at most; null when nothing was measured. */
  readonly computing: number | null;
}

/** What the driver has found until now. */
export function reportOf(driver: BenchDriver, end: DriveEnd): BenchReport {
  const { catalog, stages, workers, elapsedS, runSide } = driver;
  const results = driver.tally.results();
  const shares = timeShares(workers, runSide.busy);
  const steps = workers.reduce((sum, use) => sum + use.steps, 0);
  const perS = (count: number): number => (elapsedS > 0 ? count / elapsedS : 0);
  return {
    env: catalog?.env ?? null,
    version: catalog?.version ?? null,
    end: end.kind,
    reason: end.reason,
    wanted: driver.total ?? 0,
    ...results,
    startS: driver.startS,
    elapsedS,
    stepsPerS: perS(steps),
    tasksPerS: perS(results.tasks),
    stages: { task: stageOf(stages.task), reset: stageOf(stages.reset), step: stageOf(stages.step) },
    workers: workers.map((use) => ({
      worker: use.name,
      slots: use.slots,
      tasks: use.tasks,
      steps: use.steps,
      cores: use.upMs > 0 ? use.cpuMs / use.upMs : null,
      peakRssMiB: use.peakRssMiB > 0 ? use.peakRssMiB : null,
      emptyRssMiB: use.emptyRssMiB > 0 ? use.emptyRssMiB : null,
      slotKiB: use.peakRssMiB > 0 ? ((use.peakRssMiB - use.emptyRssMiB) * 1024) / use.slots : null,
    })),
    deadWorkers: driver.dead,
    asking: askingOf(workers),
    runSide: { busy: runSide.busy, cores: elapsedS > 0 ? runSide.cpuMs / 1000 / elapsedS : 0 },
    limitedBy: shares === null ? null : (rankShares(shares)[0]?.[0] ?? null),
    timeShares: shares,
    measuredS: workers.reduce((sum, use) => sum + use.wallMs, 0) / 1000,
    computing: computingShare(workers),
  };
}

function askingOf(workers: readonly WorkerUse[]): AskingReport {
  const sum = (of: (use: WorkerUse) => number): number => workers.reduce((all, use) => all + of(use), 0);
  const observations = sum((use) => use.observations);
  const slotMs = sum(({ taskedMs, slots }) => taskedMs * slots);
  return {
    rows: observations > 0 ? observations / sum(({ calls }) => calls) : null,
    waitMs: observations > 0 ? sum(({ waitMs }) => waitMs) / observations : null,
    idleSlots: slotMs > 0 ? sum(({ freeMs }) => freeMs) / slotMs : null,
  };
}

function stageOf(times: Histogram): StageReport {
  const { count, sum, max } = times;
  return {
    calls: count,
    meanMs: count === 0 ? null : sum / count,
    p50Ms: times.quantile(0.5),
    p95Ms: times.quantile(0.95),
    p99Ms: times.quantile(0.99),
    maxMs: count === 0 ? null : max,
  };
}
