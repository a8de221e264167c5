import type { RunState } from '../domain/run.ts';
import { Ending } from './ending.ts';
import type { Journal } from './journal.ts';
import type { Progress } from './progress.ts';

/** Reasons to stall that keep an evaluation from ending. */
const ENDLESS: ReadonlySet<string> = new Set(['store-failed', 'workers-given-up']);

export interface LifecycleParts {
  readonly journal: Pick<Journal, 'manifest' | 'setState' | 'event' | 'command'>;
  readonly progress: Pick<Progress, 'setRunning'>;
  /** Makes every worker stand still. */
  readonly hold: () => void;
  /** Makes the trainer rest between two minibatches, or go on. */
  readonly setTrainerPaused: (paused: boolean) => void;
  /** The run has begun to end: something else comes next. */
  readonly onEnding: () => void;
}

/** The state that a run is in, and the ways from one to the other: pauses, stalls, the ending. */
export class Lifecycle {
  readonly ending = new Ending();
  readonly #parts: LifecycleParts;
  #hardPaused = false;
  #quiescing = false;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  get state(): RunState {
    return this.#parts.journal.manifest.state;
  }

  /** Paused at once: nothing moves. */
  get hardPaused(): boolean {
    return this.#hardPaused;
  }

  /** Everything is being brought to rest and into a checkpoint. */
  get quiescing(): boolean {
    return this.#quiescing;
  }

  /** Takes a state over, and lets the run's clock go or stand accordingly. */
  setState(state: RunState, reason: string | null): void {
    if (!this.#parts.journal.setState(state, reason)) return;
    this.#parts.progress.setRunning(state === 'running' || state === 'pausing' || state === 'stopping');
  }

  /** Throws `run-not-live` when the run is ending. */
  refuseEnding(): void {
    this.ending.refuse(this.#parts.journal.manifest.id);
  }

  /** Begins a pause; returns whether that changed anything. Throws `run-not-live` when the run is ending. */
  pause(who: string, now: boolean): boolean {
    this.refuseEnding();
    // A stalled run rests already.
    const rests = this.state === 'paused' || this.state === 'quiesced';
    if (rests || (['pausing', 'stalled'].includes(this.state) && !now)) return false;
    this.#parts.journal.command(who, 'pause', 'run', now ? 'paused at once' : 'asked to pause');
    this.#quiescing = false;
    this.#setHardPaused(now);
    this.setState('pausing', null);
    return true;
  }

  /**
   * Begins to bring the run to rest with nothing in flight and all of it in a checkpoint; returns whether that changed anything.
   * Throws `run-not-live` when the run is ending.
   */
  quiesce(who: string): boolean {
    this.refuseEnding();
    if (this.#quiescing) return false;
    this.#parts.journal.command(who, 'pause', 'run', 'asked to quiesce');
    this.#quiescing = true;
    // What was stopped in the middle is finished first.
    this.#setHardPaused(false);
    this.setState('pausing', 'to quiesce');
    return true;
  }

  /** Nothing is in flight, and this checkpoint is on disk; `leftSteps` wait for a batch and are not in it. */
  quiesced(checkpoint: string, leftSteps: number): void {
    const left =
      leftSteps === 0 ? '' : `; ${leftSteps} queued steps are trained on after resume, or left out`;
    const reason = `nothing in flight, checkpoint ${checkpoint} on disk${left}`;
    this.setState('quiesced', reason);
    this.#event('info', 'quiesced', 'run', reason);
  }

  /** It rests, but is not in a checkpoint. */
  quiesceFailed(reason: string): void {
    this.#quiescing = false;
    this.setState('paused', `not quiesced: ${reason}`);
    this.#event(
      'error',
      'quiesce-failed',
      'run',
      `${reason}; the run is paused, and no checkpoint has all of it`,
    );
  }

  /** Lets the trainer go on; returns whether there was anything to resume. Throws `run-not-live` when the run is ending. */
  resume(who: string): boolean {
    this.refuseEnding();
    if (this.state === 'running' || this.state === 'starting') return false;
    this.#parts.journal.command(who, 'resume', 'run', 'resumed');
    this.#quiescing = false;
    this.#setHardPaused(false);
    return true;
  }

  /** Begins to end the run because somebody asked. */
  stop(who: string): void {
    if (!this.ending.begin('stopped')) return;
    this.#parts.journal.command(who, 'stop', 'run', 'stopped');
    this.#beginEnd(null);
  }

  /** The run cannot go on until somebody acts. */
  stall(kind: string, subject: string, reason: string): void {
    // Without workers or a store the final evaluation would never end, and nobody would be asked.
    if (this.ending.kind === 'finished' && ENDLESS.has(kind)) this.fail(kind, subject, reason);
    if (this.ending.kind !== null || this.state === 'stalled') return;
    this.setState('stalled', reason);
    this.#parts.hold();
    this.#event('error', kind, subject, `${reason}; the run waits: repair it, then resume`);
  }

  /** The run can never go on. */
  fail(kind: string, subject: string, reason: string): void {
    if (!this.ending.begin('failed')) return;
    this.#event('error', kind, subject, reason);
    this.#beginEnd(reason);
  }

  /** The run has reached its own end. */
  finish(): void {
    if (this.ending.kind === null && this.ending.begin('finished')) this.#beginEnd('final evaluation');
  }

  #event(level: 'info' | 'error', kind: string, subject: string, message: string): void {
    this.#parts.journal.event(level, kind, subject, message);
  }

  #beginEnd(reason: string | null): void {
    this.#setHardPaused(false);
    this.setState('stopping', reason);
    this.#parts.onEnding();
  }

  #setHardPaused(paused: boolean): void {
    this.#hardPaused = paused;
    this.#parts.setTrainerPaused(paused);
  }
}
