import type { RunState } from '../domain/run.ts';
import { Ending } from './ending.ts';
import type { Journal } from './journal.ts';
import type { Progress } from './progress.ts';

/** Reasons to stall that keep an evaluation from ending. */
const ENDLESS: ReadonlySet<string> = new Set(['store-failed', 'workers-given-up']);

export interface LifecycleParts {
  readonly journal: Pick<Journal, 'manifest' | 'setState' | 'event'>;
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
    if (this.state === 'paused' || (['pausing', 'stalled'].includes(this.state) && !now)) return false;
    this.#event('info', 'pause', 'run', `${now ? 'paused at once' : 'asked to pause'} by ${who}`);
    this.#setHardPaused(now);
    this.setState('pausing', null);
    return true;
  }

  /** Lets the trainer go on; returns whether there was anything to resume. Throws `run-not-live` when the run is ending. */
  resume(who: string): boolean {
    this.refuseEnding();
    if (this.state === 'running' || this.state === 'starting') return false;
    this.#event('info', 'resume', 'run', `resumed by ${who}`);
    this.#setHardPaused(false);
    return true;
  }

  /** Begins to end the run because somebody asked. */
  stop(who: string): void {
    if (!this.ending.begin('stopped')) return;
    this.#event('info', 'stop', 'run', `stopped by ${who}`);
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
