import { Histogram } from '../../domain/histogram.ts';
import type { IdleCause, WorkerReport } from '../../protocol/worker.ts';

/** What one worker's reports come to. Times in ms, memory in MiB. */
export interface WorkerUse {
  readonly name: string;
  readonly host: string;
  readonly isRemote: boolean;
  readonly slots: number;
  tasks: number;
  /** Answers of `step`. */
  steps: number;
  /** Since it was let go. */
  upMs: number;
  /** The part of it that is looked into: without the time after every task was given out in which it had none. */
  wallMs: number;
  cpuMs: number;
  encodeMs: number;
  /** Draws of an action. */
  inferenceMs: number;
  environmentMs: number;
  /** Calls for draws, observations in them, and how long those waited for their call, summed. */
  calls: number;
  observations: number;
  waitMs: number;
  /** How long slots were without a task while there were any, summed, and how long that was looked at. */
  freeMs: number;
  taskedMs: number;
  readonly idleMs: Record<IdleCause, number>;
  emptyRssMiB: number;
  peakRssMiB: number;
}

/** The stages of a task in the environment's hands, over all workers. */
export interface Stages {
  readonly task: Histogram;
  readonly reset: Histogram;
  readonly step: Histogram;
}

export function createStages(): Stages {
  return { task: new Histogram(), reset: new Histogram(), step: new Histogram() };
}

export function createWorkerUse(place: Pick<WorkerUse, 'name' | 'host' | 'isRemote' | 'slots'>): WorkerUse {
  return {
    ...place,
    tasks: 0,
    steps: 0,
    upMs: 0,
    wallMs: 0,
    cpuMs: 0,
    encodeMs: 0,
    inferenceMs: 0,
    environmentMs: 0,
    calls: 0,
    observations: 0,
    waitMs: 0,
    freeMs: 0,
    taskedMs: 0,
    idleMs: { held: 0, answers: 0, tasks: 0, acknowledgement: 0 },
    emptyRssMiB: 0,
    peakRssMiB: 0,
  };
}

/**
 * Adds a report. `allGiven`: no task was left to give out, so that it is nobody's fault that a worker waits for one: such
 * waits, and those in which it was held, are left out of its time.
 */
export function addReport(use: WorkerUse, stages: Stages, report: WorkerReport, allGiven: boolean): void {
  const { measure } = report;
  if (measure === undefined) return;
  // Not `report.steps`: those are looks at the policy, of which a truncated episode takes one more.
  use.steps += measure.stages.step.buckets.reduce((sum, [, count]) => sum + count, 0);
  stages.task.merge(measure.stages.task);
  stages.reset.merge(measure.stages.reset);
  stages.step.merge(measure.stages.step);
  const { held, answers, tasks, acknowledgement } = measure.idleMs;
  const up = Math.max(0, measure.wallMs - held);
  use.upMs += up;
  use.wallMs += Math.max(0, up - (allGiven ? tasks : 0));
  use.cpuMs += measure.cpuMs;
  use.encodeMs += report.encodeMs;
  use.inferenceMs += report.inferenceMs;
  use.environmentMs += measure.environmentMs;
  use.calls += report.inferenceCalls;
  use.observations += report.steps;
  use.waitMs += report.waitMs;
  if (!allGiven) {
    use.freeMs += report.freeMs;
    use.taskedMs += up;
  }
  use.idleMs.answers += answers;
  use.idleMs.tasks += allGiven ? 0 : tasks;
  use.idleMs.acknowledgement += acknowledgement;
  use.emptyRssMiB = measure.emptyRssMiB;
  use.peakRssMiB = Math.max(use.peakRssMiB, measure.peakRssMiB);
}
