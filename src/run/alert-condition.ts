import { type AlertRule, readLimit } from '../domain/alert.ts';
import type { EpisodeSummary } from '../domain/episode.ts';
import { errorText, LabError } from '../domain/error.ts';
import { percent } from '../domain/figure-text.ts';
import { episodeSequence } from '../domain/id.ts';
import { METRICS } from '../domain/metric.ts';
import type { IterationMetrics } from '../domain/run.ts';
import { formatFilter, parseFilter } from '../store/filter.ts';
import { type SummaryMatcher, summaryMatcher } from '../store/filter-match.ts';
import { allOf, type FilterNode, NEWEST_FIRST, not } from '../store/filter-tree.ts';
import { CountWindow, type EpisodeWindow, TimeWindow } from './alert-window.ts';

/** Whether a condition holds; null while too little has been seen to say. */
export type Verdict = boolean | null;

/** What an alert watches. Times are ms of running time. */
export interface AlertCondition {
  episode(summary: EpisodeSummary, now: number, wallClock: number): void;
  iteration(row: IterationMetrics, now: number): void;
  verdict(now: number): Verdict;
  /** What it is compared with its limit by: a share, a count or the mean of a metric. */
  readonly figure: number;
  /** What is seen, one line, as in `34.2 % of the newest 500 episodes match fail:gave_up`. */
  describe(): string;
  formatFigure(figure: number): string;
  /** The episodes that it is about now, as a filter; those since `since`, from an earlier call, too. */
  filter(since: AlertSpan | null): string;
  span(): AlertSpan | null;
}

/** From which episode, or iteration, to which. */
export interface AlertSpan {
  readonly first: number;
  readonly last: number;
}

/** A share of fewer episodes than this says nothing, where the window is a length of time. */
const LEAST_EPISODES = 20;

/** Makes ready what a rule watches. The rule is as a checked config has it; throws `config-invalid` for another. */
export function alertCondition(rule: AlertRule): AlertCondition {
  return rule.metric === undefined ? new EpisodeCondition(rule) : new MetricCondition(rule, rule.metric);
}

/** The limit, and on which side of it the condition holds. */
class Border {
  readonly isAbove: boolean;
  readonly value: number;
  readonly isShare: boolean;

  constructor({ name, above, below }: AlertRule) {
    const limit = above ?? below;
    if (limit === undefined) throw new LabError('config-invalid', { message: `alert ${name} has no limit` });
    const { value, isShare } = readLimit(limit);
    this.isAbove = above !== undefined;
    this.value = value;
    this.isShare = isShare;
  }

  isPassed(figure: number): boolean {
    return this.isAbove ? figure > this.value : figure < this.value;
  }

  format(figure: number): string {
    return this.isShare ? percent(figure) : String(Number(figure.toPrecision(4)));
  }

  get text(): string {
    return `${this.isAbove ? 'above' : 'below'} ${this.format(this.value)}`;
  }
}

function nodeOf(rule: AlertRule, text: string | undefined): FilterNode {
  try {
    return parseFilter(text ?? '').where;
  } catch (thrown) {
    throw new LabError('config-invalid', {
      message: `alert ${rule.name}: ${errorText(thrown)}`,
      cause: thrown,
    });
  }
}

function seconds(value: number): string {
  return value < 120 ? `${value} s` : `${Number((value / 60).toFixed(1))} min`;
}

class EpisodeCondition implements AlertCondition {
  readonly #border: Border;
  readonly #window: EpisodeWindow;
  readonly #rule: AlertRule;
  readonly #matches: SummaryMatcher;
  readonly #isAmong: SummaryMatcher;
  readonly #node: FilterNode;
  readonly #among: FilterNode;

  constructor(rule: AlertRule) {
    this.#rule = rule;
    this.#border = new Border(rule);
    this.#window =
      rule.withinS === undefined ? new CountWindow(rule.last ?? 1) : new TimeWindow(rule.withinS * 1000);
    this.#node = nodeOf(rule, rule.filter);
    this.#among = nodeOf(rule, rule.among);
    this.#matches = summaryMatcher(this.#node);
    this.#isAmong = summaryMatcher(this.#among);
  }

  get figure(): number {
    const { matched, total } = this.#window;
    return this.#border.isShare ? matched / Math.max(1, total) : matched;
  }

  episode(summary: EpisodeSummary, now: number, wallClock: number): void {
    if (!this.#isAmong(summary, wallClock)) return;
    this.#window.add(episodeSequence(summary.id), this.#matches(summary, wallClock), now);
  }

  iteration(): void {
    // Episodes are what it watches.
  }

  verdict(now: number): Verdict {
    const window = this.#window;
    window.advance(now);
    const { isAbove, isShare, value } = this.#border;
    const { size, total, matched } = window;
    if (size !== null) {
      // A window that is not full yet has passed its limit when enough match, whatever the rest will be.
      if (total === size) return this.#border.isPassed(this.figure);
      return isAbove && matched > (isShare ? value * size : value) ? true : null;
    }
    if (isShare) return total < LEAST_EPISODES ? null : this.#border.isPassed(this.figure);
    // Few in a window that has only begun says nothing.
    if (!isAbove && now < (this.#rule.withinS ?? 0) * 1000) return null;
    return this.#border.isPassed(matched);
  }

  describe(): string {
    const { filter = '*', among, withinS } = this.#rule;
    const { total, matched, size } = this.#window;
    const which = size === null ? `of the last ${seconds(withinS ?? 0)}` : `among the newest ${total}`;
    const where = among === undefined ? which : `with ${among} ${which}`;
    const counted = this.#border.isShare
      ? `${this.format(this.figure)}, ${matched} of ${total} episodes`
      : `${matched} of ${total} episodes`;
    return `${counted} ${where} match ${filter.trim() === '' ? '*' : filter}; ${this.#border.text}`;
  }

  formatFigure(figure: number): string {
    return this.format(figure);
  }

  format(figure: number): string {
    return this.#border.format(figure);
  }

  /** Below a limit, those that do not match are the ones to look at. */
  filter(since: AlertSpan | null): string {
    const span = joinSpans(since, this.span());
    const told = this.#border.isAbove ? this.#node : not(this.#node);
    const ids: FilterNode[] =
      span === null ? [] : [{ kind: 'range', field: 'id', from: span.first, to: span.last }];
    return formatFilter({ where: allOf([this.#among, told, ...ids]), sort: NEWEST_FIRST });
  }

  span(): AlertSpan | null {
    return this.#window.span();
  }
}

interface Point {
  readonly iteration: number;
  readonly value: number;
  readonly at: number;
}

class MetricCondition implements AlertCondition {
  readonly #border: Border;
  readonly #rule: AlertRule;
  readonly #metric: string;
  readonly #field: keyof IterationMetrics | undefined;
  #points: Point[] = [];

  constructor(rule: AlertRule, metric: string) {
    this.#rule = rule;
    this.#border = new Border(rule);
    this.#metric = metric;
    this.#field = METRICS.find(({ column }) => column === metric)?.field;
  }

  get figure(): number {
    return this.#points.reduce((sum, { value }) => sum + value, 0) / Math.max(1, this.#points.length);
  }

  episode(): void {
    // Iterations are what it watches.
  }

  iteration(row: IterationMetrics, now: number): void {
    const value = this.#field === undefined ? null : row[this.#field];
    // A metric that is not measured yet, as held-out success before the first evaluation, is none.
    if (typeof value !== 'number' && typeof value !== 'boolean') return;
    this.#points.push({ iteration: row.iteration, value: Number(value), at: now });
    const { withinS, last = 1 } = this.#rule;
    if (withinS === undefined) this.#points = this.#points.slice(-last);
  }

  verdict(now: number): Verdict {
    const { withinS, last = 1 } = this.#rule;
    if (withinS !== undefined) this.#points = this.#points.filter(({ at }) => at > now - withinS * 1000);
    if (this.#points.length < (withinS === undefined ? last : 1)) return null;
    return this.#border.isPassed(this.figure);
  }

  describe(): string {
    const count = this.#points.length;
    const { withinS } = this.#rule;
    const mean =
      withinS === undefined ? `mean of ${count} iterations` : `mean of the last ${seconds(withinS)}`;
    const how = count === 1 && withinS === undefined ? '' : ` (${mean})`;
    return `${this.#metric} is ${this.formatFigure(this.figure)}${how}; ${this.#border.text}`;
  }

  formatFigure(figure: number): string {
    return this.#border.format(figure);
  }

  filter(since: AlertSpan | null): string {
    const span = joinSpans(since, this.span());
    return span === null ? '' : `iter:${span.first}..${span.last}`;
  }

  span(): AlertSpan | null {
    const [first, last] = [this.#points[0], this.#points.at(-1)];
    return first === undefined || last === undefined
      ? null
      : { first: first.iteration, last: last.iteration };
  }
}

function joinSpans(one: AlertSpan | null, other: AlertSpan | null): AlertSpan | null {
  if (one === null || other === null) return one ?? other;
  return { first: Math.min(one.first, other.first), last: Math.max(one.last, other.last) };
}
