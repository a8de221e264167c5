import type { AlertRule } from '../domain/alert.ts';
import type { AlertStatus } from '../domain/alert-status.ts';
import type { EpisodeSummary } from '../domain/episode.ts';
import { duration } from '../domain/figure-text.ts';
import type { IterationMetrics } from '../domain/run.ts';
import { type AlertCondition, type AlertSpan, alertCondition } from './alert-condition.ts';

/** An alert that begins, or ends. */
export interface AlertNews {
  readonly name: string;
  readonly begins: boolean;
  readonly message: string;
  /** Shows the episodes that it is, or was, about. */
  readonly filter: string;
}

interface Active extends AlertStatus {
  readonly span: AlertSpan | null;
  /** The figure farthest from the limit. */
  readonly worst: number;
}

/** One rule and where it stands. */
class Alert {
  readonly #rule: AlertRule;
  readonly condition: AlertCondition;
  #active: Active | null = null;
  /** When it began last, ms since the epoch. */
  #began = Number.NEGATIVE_INFINITY;

  constructor(rule: AlertRule) {
    this.#rule = rule;
    this.condition = alertCondition(rule);
  }

  get status(): AlertStatus | null {
    if (this.#active === null) return null;
    const { name, since, message, filter } = this.#active;
    return { name, since, message, filter };
  }

  /** What begins or ends now: `running` in ms of running time, `time` since the epoch. */
  settle(running: number, time: number): AlertNews | null {
    const verdict = this.condition.verdict(running);
    if (this.#active === null) {
      const isSilent = time - this.#began < this.#rule.cooldownS * 1000;
      return verdict === true && !isSilent ? this.#begin(time) : null;
    }
    if (verdict === false) return this.#end(this.#active, time);
    if (verdict === true) this.#active = { ...this.#active, worst: this.#worse(this.#active.worst) };
    return null;
  }

  #begin(time: number): AlertNews {
    const { name } = this.#rule;
    const { condition } = this;
    const [message, filter] = [condition.describe(), condition.filter(null)];
    this.#began = time;
    this.#active = {
      name,
      since: time,
      message,
      filter,
      span: condition.span(),
      worst: condition.figure,
    };
    return { name, begins: true, message, filter };
  }

  #end({ since, span, worst }: Active, time: number): AlertNews {
    const { condition } = this;
    this.#active = null;
    const reached = `${this.#isAbove ? 'at most' : 'at least'} ${condition.formatFigure(worst)}`;
    return {
      name: this.#rule.name,
      begins: false,
      message: `over after ${duration(time - since)}, ${reached}: now ${condition.describe()}`,
      filter: condition.filter(span),
    };
  }

  #worse(worst: number): number {
    const { figure } = this.condition;
    return this.#isAbove ? Math.max(worst, figure) : Math.min(worst, figure);
  }

  get #isAbove(): boolean {
    return this.#rule.above !== undefined;
  }
}

/**
 * Follows what is stored and says when a rule's condition begins and ends to hold. A filter is asked once an episode, and a
 * window only keeps counts, so that a rule costs well under a microsecond an episode. Time in which the run rests does not
 * count: windows stand still. Running time is known to the newest `settle`.
 */
export class AlertWatch {
  readonly #alerts: readonly Alert[];
  /** Running time until `#seenAt`, ms. */
  #running = 0;
  #seenAt: number | null = null;

  constructor(rules: readonly AlertRule[]) {
    this.#alerts = rules.map((rule) => new Alert(rule));
  }

  /** Those whose condition holds. */
  status(): AlertStatus[] {
    return this.#alerts.flatMap(({ status }) => status ?? []);
  }

  /** Takes note of an episode; `settle` says what follows. */
  episode(summary: EpisodeSummary, time: number): void {
    for (const { condition } of this.#alerts) condition.episode(summary, this.#running, time);
  }

  iteration(row: IterationMetrics): void {
    for (const { condition } of this.#alerts) condition.iteration(row, this.#running);
  }

  /** What begins or ends at `time`, ms since the epoch; nothing does while the run rests. */
  settle(time: number, isRunning: boolean): AlertNews[] {
    const since = this.#seenAt ?? time;
    this.#seenAt = Math.max(since, time);
    if (!isRunning) return [];
    this.#running += Math.max(0, time - since);
    return this.#alerts.flatMap((alert) => alert.settle(this.#running, time) ?? []);
  }
}
