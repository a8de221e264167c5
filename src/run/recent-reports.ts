import type { Batching } from '../domain/pipeline.ts';
import type { WorkerReport } from '../protocol/worker.ts';

/** How long figures are averaged over, ms. */
const WINDOW_MS = 3000;

type Summed = 'steps' | 'inferenceCalls' | 'waitMs' | 'inferenceMs';

interface Entry extends Pick<WorkerReport, Summed> {
  readonly time: number;
}

/** What the workers of a run reported in the last seconds. */
export class RecentReports {
  readonly #entries: Entry[] = [];

  add({ steps, inferenceCalls, waitMs, inferenceMs }: WorkerReport): void {
    this.#entries.push({ time: Date.now(), steps, inferenceCalls, waitMs, inferenceMs });
    this.#forgetOld();
  }

  /** Environment steps per second. */
  stepsPerS(): number {
    return (this.#sum('steps') * 1000) / WINDOW_MS;
  }

  /** How the policy was asked; `capacity`, of a call, and the longest present window are the caller's to know. */
  batching(capacity: number, windowMs: number): Batching {
    const [rows, calls] = [this.#sum('steps'), this.#sum('inferenceCalls')];
    return {
      rows: mean(rows, calls),
      capacity,
      waitMs: mean(this.#sum('waitMs'), rows),
      windowMs,
      inferenceMs: mean(this.#sum('inferenceMs'), calls),
    };
  }

  #sum(field: Summed): number {
    this.#forgetOld();
    return this.#entries.reduce((sum, entry) => sum + entry[field], 0);
  }

  /** Also when nobody asks: a run may be alone for days. */
  #forgetOld(): void {
    const since = Date.now() - WINDOW_MS;
    while ((this.#entries[0]?.time ?? since) < since) this.#entries.shift();
  }
}

function mean(sum: number, count: number): number | null {
  return count === 0 ? null : sum / count;
}
