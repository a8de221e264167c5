import type { RunState, RunStatus } from '../domain/run.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { SampleQueue } from './sample-queue.ts';
import type { TrainerLink } from './trainer-link.ts';

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

/** What the decisions depend on, from those who know it. */
export function situationOf(
  { state, hardPaused, ending }: Pick<Lifecycle, 'state' | 'hardPaused' | 'ending'>,
  { evaluating }: Pick<Dispatcher, 'evaluating'>,
  { updating, ready }: Pick<TrainerLink, 'updating' | 'ready'>,
  { steps, bytes }: Pick<SampleQueue, 'steps' | 'bytes'>,
): Situation {
  return {
    state,
    hardPaused,
    ending: ending.kind,
    evaluating,
    updating,
    trainerReady: ready,
    queuedSteps: steps,
    queuedBytes: bytes,
  };
}

/** What the flow goes by: see sampling.* in docs/CONFIG.md, and docs/FLOW.md. */
export interface FlowRules {
  /** Sample while the trainer updates. */
  readonly overlap: boolean;
  readonly batchSteps: number;
  /** Bytes of queued samples at which samplers slow down, and at which they stop. */
  readonly softBytes: number;
  readonly hardBytes: number;
}

/** Whether an update may begin: a whole batch is there, and nothing else has the floor. */
export function mayUpdate(now: Situation, rules: Pick<FlowRules, 'batchSteps'>): boolean {
  return now.state === 'running' && !now.updating && now.trainerReady && isUpdateDue(now, rules);
}

/** Whether nothing but the trainer is missing for an update: it may be starting again. */
export function isUpdateDue(now: Situation, { batchSteps }: Pick<FlowRules, 'batchSteps'>): boolean {
  return now.ending === null && !now.evaluating && now.queuedSteps >= batchSteps;
}

/** Whether workers must stand still, however little is queued: while paused or stalled, or while the trainer has the cores. */
function mustHold(now: Situation, { overlap }: FlowRules): boolean {
  if (now.hardPaused || ['starting', 'paused', 'quiesced', 'stalled'].includes(now.state)) return true;
  return !isFree(now) && (now.ending !== null || (now.updating && !overlap));
}

/** Whether what is in flight is wanted whatever else waits: held-out episodes, and those to be finished before a rest. */
function isFree(now: Situation): boolean {
  return now.evaluating || (now.state === 'pausing' && !now.updating);
}

/**
 * How fast samplers may go: 1 is as fast as they can, 0 is not at all. Between the soft and the hard limit the pace falls in a
 * straight line, so that what is queued settles where samplers are as fast as the trainer, instead of going up and down.
 */
export function paceOf(now: Situation, rules: FlowRules): number {
  if (mustHold(now, rules)) return 0;
  // A queue without a whole batch is never too full: nothing would ever take from it.
  if (isFree(now) || now.queuedSteps < rules.batchSteps) return 1;
  const { softBytes, hardBytes } = rules;
  if (now.queuedBytes >= hardBytes) return 0;
  return Math.min(1, (hardBytes - now.queuedBytes) / (hardBytes - softBytes));
}

/** Whether episodes may be given out. */
export function mayDispatch(now: Situation): boolean {
  if (now.hardPaused) return false;
  return now.state === 'running' || (now.ending === 'finished' && now.evaluating);
}

/** The one word that says what the run is at. */
export function activityOf(now: Situation): RunStatus['activity'] {
  if (now.state === 'starting') return 'starting';
  if (['paused', 'quiesced', 'stalled'].includes(now.state)) return 'resting';
  if (now.updating) return 'updating';
  return now.evaluating ? 'evaluating' : 'sampling';
}
