import type { AlertRule } from '../domain/alert.ts';
import type { AlertStatus } from '../domain/alert-status.ts';
import type { EpisodeSummary } from '../domain/episode.ts';
import type { IterationMetrics, RunState } from '../domain/run.ts';
import { AlertWatch } from './alert-watch.ts';
import type { Journal } from './journal.ts';

/** The alerts of a run's config: each that begins or ends becomes an event. */
export class AlertKeeper {
  readonly #watch: AlertWatch;
  readonly #journal: Journal;

  constructor(rules: readonly AlertRule[], journal: Journal) {
    this.#watch = new AlertWatch(rules);
    this.#journal = journal;
  }

  status(): AlertStatus[] {
    return this.#watch.status();
  }

  stored(summary: EpisodeSummary): void {
    this.#watch.episode(summary, Date.now());
  }

  updated(row: IterationMetrics): void {
    this.#watch.iteration(row);
  }

  /** Called after something was stored, and every now and then. */
  settle(state: RunState, now: number): void {
    for (const { name, begins, message, filter } of this.#watch.settle(now, state === 'running')) {
      this.#journal.tell({
        level: begins ? 'warning' : 'info',
        kind: 'alert',
        subject: name,
        message,
        episodes: [],
        ...(filter === '' ? {} : { filter }),
      });
    }
  }
}
