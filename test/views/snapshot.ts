import type { RunSnapshot } from '../../views/live-run.ts';
import { manifestOf, metricsOf, START, statusOf } from './fake-run.ts';

/** What the screen knows of a run that learns, after 40 iterations. */
export function snapshotOf(change: Partial<RunSnapshot> = {}): RunSnapshot {
  return {
    manifest: manifestOf(),
    connection: 'live',
    status: statusOf(),
    statusAt: START,
    now: START + 200,
    iterations: Array.from({ length: 40 }, (_, index) => metricsOf(index + 1)),
    evaluations: [],
    knobChanges: [],
    events: [],
    alarms: [],
    turns: [],
    parentIterations: [],
    storeError: null,
    ...change,
  };
}
