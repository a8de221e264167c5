import { keysOf, recordOf } from '../../domain/table.ts';
import type { WorkerUse } from './worker-use.ts';

/** What the workers' time can go to, each with what it is called. */
export const LIMITS = {
  environment: "the environment's own computing",
  answers: "waiting for the environment's answers",
  encoding: 'encoding observations for the policy and drawing actions',
  recording: 'recording and sending episodes',
  run: 'the run side: giving out tasks and acknowledging episodes',
  link: 'the link to the hosts',
} as const;
export type Limit = keyof typeof LIMITS;

/** Share of each in the workers' time; they sum to 1. */
export type TimeShares = Readonly<Record<Limit, number>>;

/** A run side that is at work for more of the time than this is what its workers wait for, on other hosts too. */
const BUSY_RUN_SIDE = 0.8;

/**
 * Where the workers' time went, as shares; null when nothing was measured. Idle for want of tasks or acknowledgement counts
 * as the run side's, but for workers on other hosts as the link's while the run side has time itself (`runBusy`, the
 * part of the time that its event loop was at work, is 0.8 or less). Whatever is neither idle nor in the environment nor encoding is
 * recording, sending and what the loop itself takes.
 */
export function timeShares(workers: readonly WorkerUse[], runBusy: number): TimeShares | null {
  const names = keysOf(LIMITS);
  const ms = recordOf(names, () => 0);
  for (const { wallMs, environmentMs, encodeMs, inferenceMs, idleMs, isRemote } of workers) {
    const encoding = encodeMs + inferenceMs;
    const kept = idleMs.tasks + idleMs.acknowledgement;
    ms.environment += environmentMs;
    ms.answers += idleMs.answers;
    ms.encoding += encoding;
    ms[isRemote && runBusy <= BUSY_RUN_SIDE ? 'link' : 'run'] += kept;
    ms.recording += Math.max(0, wallMs - environmentMs - idleMs.answers - encoding - kept);
  }
  const total = names.reduce((sum, name) => sum + ms[name], 0);
  return total <= 0 ? null : recordOf(names, (name) => ms[name] / total);
}

/** The greatest share first. */
export function rankShares(shares: TimeShares): readonly (readonly [Limit, number])[] {
  return keysOf(shares)
    .map((name) => [name, shares[name]] as const)
    .toSorted(([, left], [, right]) => right - left);
}

/** CPU time of the workers by the time in which they were not idle, 1 at most; null when nothing was measured. */
export function computingShare(workers: readonly WorkerUse[]): number | null {
  let [cpu, busy] = [0, 0];
  for (const { cpuMs, wallMs, idleMs } of workers) {
    cpu += cpuMs;
    busy += wallMs - idleMs.answers - idleMs.tasks - idleMs.acknowledgement;
  }
  return busy > 0 ? Math.min(1, cpu / busy) : null;
}
