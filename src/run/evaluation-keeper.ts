import type { Dispatcher } from './dispatcher.ts';
import type { Journal } from './journal.ts';
import type { Progress } from './progress.ts';

/** Begins evaluations of the policy as it is, and keeps what comes of them. */
export class EvaluationKeeper {
  readonly #dispatcher: Dispatcher;
  readonly #progress: Progress;
  readonly #journal: Journal;

  constructor(dispatcher: Dispatcher, progress: Progress, journal: Journal) {
    this.#dispatcher = dispatcher;
    this.#progress = progress;
    this.#journal = journal;
  }

  /** From now on only episodes of an evaluation are given out. False when there is nothing to evaluate. */
  begin(): boolean {
    const { iteration, policyVersion } = this.#progress;
    if (!this.#dispatcher.beginEvaluation(iteration, policyVersion)) return false;
    this.#progress.beginEvaluation();
    return true;
  }

  /** Takes the results when the last episode of an evaluation is in. */
  take(): void {
    const results = this.#dispatcher.takeEvaluation();
    if (results === null) return;
    this.#progress.finishEvaluation(results);
    for (const result of results) this.#journal.record((store) => store.appendEvaluation(result));
  }
}
