import { LabError } from '../domain/error.ts';
import type { EndKind, Situation } from './flow.ts';

/** How long an ending run waits for an update in progress. */
const UPDATE_GRACE_MS = 15_000;

/** That a run is ending, and what is still waited for. */
export class Ending {
  #kind: EndKind | null = null;
  #since = 0;
  #finalEvaluationDone = false;

  /** Null while the run goes on. */
  get kind(): EndKind | null {
    return this.#kind;
  }

  /** Asked to stop, a run does not wait for its own end; a stop or a failure is final. */
  begin(kind: EndKind): boolean {
    if (this.#kind !== null && this.#kind !== 'finished') return false;
    this.#kind = kind;
    this.#since = Date.now();
    return true;
  }

  /** Whether something in progress is to be finished first. */
  waits({ evaluating, updating, trainerReady }: Situation): boolean {
    if (evaluating && this.#kind === 'finished') return true;
    if (!updating || !trainerReady) return false;
    // The final evaluation is of one policy version: it cannot begin while another one is being made.
    return this.#kind === 'finished' || Date.now() - this.#since < UPDATE_GRACE_MS;
  }

  /** True once, for a run that reached its own end: it is evaluated a last time. */
  takeFinalEvaluation(): boolean {
    if (this.#kind !== 'finished' || this.#finalEvaluationDone) return false;
    this.#finalEvaluationDone = true;
    return true;
  }

  /** Throws `run-not-live` when the run is ending. */
  refuse(runId: string): void {
    if (this.#kind === null) return;
    throw new LabError('run-not-live', {
      message: `run ${runId} is ending`,
      hint: `start it again from its last checkpoint with: agentrl-lab resume ${runId}`,
    });
  }
}
