import { cpus, totalmem } from 'node:os';

/** What a benchmark measured; null where it could not be. */
export type Figures = Readonly<Record<string, number | null>>;

export interface BenchmarkResult {
  readonly figures: Figures;
  /** Under which conditions: sizes, seeds, anything that a reader needs to repeat it. */
  readonly conditions: Readonly<Record<string, string | number | boolean>>;
  /** Further lines for people. */
  readonly details?: readonly string[];
}

export interface BenchmarkOptions {
  /** `--seconds`: length of each measurement. */
  readonly seconds: number;
  /** `--minutes`: length of each training run. */
  readonly minutes: number;
  /** `--seeds`. */
  readonly seeds: readonly number[];
  /** `--slots`. */
  readonly slots: number | null;
  /** `--run`: directory of a run whose newest checkpoint's weights are taken. */
  readonly run: string | null;
  /** `--episodes`: size of a generated run or store. */
  readonly episodes: number | null;
  /** `--directory`: where a generated run is kept, and found again; null: it is made anew and removed. */
  readonly directory: string | null;
  /** Progress, for people. */
  readonly say: (line: string) => void;
}

/** One budget of docs/DESIGN.md. */
export interface Benchmark {
  readonly name: string;
  /** One line for the list. */
  readonly measures: string;
  run(options: BenchmarkOptions): Promise<BenchmarkResult>;
}

/** What every result says of the machine. */
export function machine(): Record<string, string | number> {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  };
}

/** The middle value; null of nothing, or when more than half are null (never reached). */
export function median(values: readonly (number | null)[]): number | null {
  const sorted = values.map((value) => value ?? Number.POSITIVE_INFINITY).toSorted((a, b) => a - b);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  return middle === undefined || !Number.isFinite(middle) ? null : middle;
}

/** The value that so much of the others lies below, by nearest rank; 0 of nothing. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

export async function sleep(ms: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
