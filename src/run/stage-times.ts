import { Histogram, type HistogramData } from '../domain/histogram.ts';
import type { PipelineStage } from '../domain/pipeline.ts';

/** Times are remembered for one to two windows of so long, ms. */
const WINDOW_MS = 10 * 60_000;
/** Fewer say nothing of the 99th percentile: of updates there are few, of steps thousands. */
const LEAST: Readonly<Partial<Record<PipelineStage, number>>> = { update: 3, broadcast: 3, queue: 3 };
const LEAST_OF_OTHERS = 50;
const SHARE = 0.99;

/** How long items were in one stage of late, from two histograms that take turns. */
class RecentTimes {
  #current = new Histogram();
  #previous: HistogramData | null = null;
  #since = 0;

  add(data: HistogramData, now: number): void {
    if (now - this.#since >= WINDOW_MS) {
      this.#previous = this.#current.take();
      this.#since = now;
    }
    this.#current.merge(data);
  }

  quantile(share: number, least: number): number | null {
    const all = new Histogram();
    const current = this.#current.take();
    this.#current.merge(current);
    all.merge(current);
    if (this.#previous !== null) all.merge(this.#previous);
    return all.count < least ? null : all.quantile(share);
  }
}

/** The 99th percentile of the time in each stage, over a window that moves. Times are ms. */
export class StageTimes {
  readonly #times = new Map<PipelineStage, RecentTimes>();

  /** So long were items in a stage that have left it. */
  add(stage: PipelineStage, data: HistogramData, now: number): void {
    if (data.buckets.length === 0) return;
    const times = this.#times.get(stage) ?? new RecentTimes();
    this.#times.set(stage, times);
    times.add(data, now);
  }

  addOne(stage: PipelineStage, ms: number, now: number): void {
    const one = new Histogram();
    one.add(ms);
    this.add(stage, one.take(), now);
  }

  /** Null until enough were seen. */
  p99(stage: PipelineStage): number | null {
    return this.#times.get(stage)?.quantile(SHARE, LEAST[stage] ?? LEAST_OF_OTHERS) ?? null;
  }
}
