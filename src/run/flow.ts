import type { Config } from '../config/schema.ts';
import type { RunState, RunStatus } from '../domain/run.ts';

/** How a run can end: somebody asked, its own end was reached, or it cannot go on. */
export type EndKind = 'stopped' | 'finished' | 'failed';

/** What the decisions about a run's flow depend on. */
export interface Situation {
  readonly state: RunState;
  /** Paused at once: nothing moves. */
  readonly hardPaused: boolean;
  /** The state that the run shall end in; null while it goes on. */
  readonly ending: EndKind | null;
  readonly evaluating: boolean;
  readonly updating: boolean;
  readonly trainerReady: boolean;
  readonly queuedSteps: number;
  readonly queuedBytes: number;
}

type Sampling = Config['sampling'];

/** Whether an update may begin: a whole batch is there, and nothing else has the floor. */
export function mayUpdate(now: Situation, { batchSteps }: Sampling): boolean {
  const free = !now.evaluating && !now.updating && now.trainerReady;
  return now.state === 'running' && now.ending === null && free && now.queuedSteps >= batchSteps;
}

/** Whether workers must stand still: while paused or stalled, while the trainer has the cores, when enough is queued. */
export function mustHold(now: Situation, { overlap, batchSteps, queueMiB }: Sampling): boolean {
  if (now.hardPaused || ['starting', 'paused', 'stalled'].includes(now.state)) return true;
  // What is in flight is finished before the run rests: it waits for nothing but the trainer.
  if (now.evaluating || (now.state === 'pausing' && !now.updating)) return false;
  // A queue without a whole batch is never full: nothing would ever take from it.
  const full = now.queuedBytes >= queueMiB * 2 ** 20 && now.queuedSteps >= batchSteps;
  if (now.ending !== null || full) return true;
  return now.updating && (!overlap || now.queuedSteps >= batchSteps);
}

/** Whether episodes may be given out. */
export function mayDispatch(now: Situation): boolean {
  if (now.hardPaused) return false;
  return now.state === 'running' || (now.ending === 'finished' && now.evaluating);
}

/** The one word that says what the run is at. */
export function activityOf(now: Situation): RunStatus['activity'] {
  if (now.state === 'starting') return 'starting';
  if (now.state === 'paused' || now.state === 'stalled') return 'resting';
  if (now.updating) return 'updating';
  return now.evaluating ? 'evaluating' : 'sampling';
}
