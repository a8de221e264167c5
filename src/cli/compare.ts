import { LabError } from '../domain/error.ts';
import { METRIC_NAMES, METRICS } from '../domain/metric.ts';
import { nearest } from '../domain/nearest.ts';
import type { IterationMetrics } from '../domain/run.ts';
import { type Bucket, MetricPyramid } from '../store/downsample.ts';
import { openRunReader } from '../store/queries.ts';
import type { CompareAxis } from './choices.ts';
import { type Column, formatDuration, formatNumber, formatShort, formatTable } from './format.ts';
import { printJson, printLine } from './output.ts';
import { type FoundRun, findNewestRun } from './runs.ts';

/** What rows may be aligned by. */

export interface CompareOptions {
  readonly runs: string;
  readonly metric: string;
  readonly by: CompareAxis;
  readonly rows: number;
  readonly json?: boolean;
}

const AXES: Readonly<
  Record<
    CompareAxis,
    { readonly x: (row: IterationMetrics) => number; readonly format: (x: number) => string }
  >
> = {
  iteration: { x: ({ iteration }) => iteration, format: (x) => String(Math.round(x)) },
  steps: { x: ({ envSteps }) => envSteps, format: formatShort },
  time: { x: ({ elapsedS }) => elapsedS, format: formatDuration },
};

interface Series {
  readonly run: string;
  readonly metric: string;
  readonly pyramid: MetricPyramid;
}

interface ComparedRow {
  readonly from: number;
  readonly to: number;
  readonly buckets: readonly Bucket[];
}

const NOTHING: Bucket = { min: Number.NaN, max: Number.NaN, mean: Number.NaN, count: 0 };

/** Prints metrics of runs side by side, in rows of equal width along an axis: the mean of what lies in each. */
export function compareRuns(ids: readonly string[], options: CompareOptions): void {
  const metrics = options.metric.split(',').map((name) => metricField(name.trim()));
  const runs = ids.map((id) => findNewestRun(options.runs, id));
  const rowsOf = new Map(runs.map((run) => [run.id, readIterations(run)]));
  const axis = AXES[options.by];
  const series = metrics.flatMap(({ field, column }) =>
    [...rowsOf].map(([run, rows]): Series => {
      const pyramid = new MetricPyramid();
      // A resumed run's clock may stand before where an attempt that was lost had come to.
      for (const row of rows.toSorted((left, right) => axis.x(left) - axis.x(right))) {
        pyramid.push(axis.x(row), numberOf(row[field]));
      }
      return { run, metric: column, pyramid };
    }),
  );
  const rows = align(series, options);
  if (options.json === true) {
    for (const row of rows) printJson({ by: options.by, from: row.from, to: row.to, ...values(series, row) });
  } else if (rows.length === 0) {
    printLine('none of these runs has finished an iteration yet');
  } else {
    for (const line of formatTable(tableColumns(series, options.by), rows)) printLine(line);
  }
}

function align(series: readonly Series[], { by, rows }: CompareOptions): ComparedRow[] {
  const spans = series.flatMap(({ pyramid }) => (pyramid.span === null ? [] : [pyramid.span]));
  if (spans.length === 0) return [];
  const from = by === 'iteration' ? Math.min(...spans.map(([first]) => first)) : 0;
  const to = Math.max(...spans.map(([, last]) => last));
  // An iteration has no halves.
  const count = by === 'iteration' ? Math.min(rows, to - from + 1) : rows;
  const end = by === 'iteration' ? to + 1 : to;
  const width = (end - from) / count;
  const columns = series.map(({ pyramid }) => pyramid.buckets(from, end, count));
  return Array.from({ length: count }, (_, index) => ({
    from: from + index * width,
    to: from + (index + 1) * width,
    buckets: columns.map((buckets) => buckets[index] ?? NOTHING),
  }));
}

function tableColumns(series: readonly Series[], by: CompareAxis): Column<ComparedRow>[] {
  const several = new Set(series.map(({ metric }) => metric)).size > 1;
  return [
    { title: by.toUpperCase(), align: 'right', cell: ({ from }) => `${AXES[by].format(Math.ceil(from))}..` },
    ...series.map(({ run, metric }, index): Column<ComparedRow> => {
      return {
        title: several ? `${metric} ${run}` : run,
        align: 'right',
        cell: ({ buckets }) => formatNumber(finite(buckets[index]?.mean)),
      };
    }),
  ];
}

/** By metric and run. */
function values(series: readonly Series[], row: ComparedRow): Record<string, Record<string, object>> {
  const found: Record<string, Record<string, object>> = {};
  for (const [index, { run, metric }] of series.entries()) {
    const { min, max, mean, count } = row.buckets[index] ?? NOTHING;
    const ofMetric = (found[metric] ??= {});
    ofMetric[run] = { mean: finite(mean), min: finite(min), max: finite(max), count };
  }
  return found;
}

function finite(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : value;
}

function readIterations(run: FoundRun): IterationMetrics[] {
  const reader = openRunReader(run.paths);
  try {
    return reader.iterations();
  } finally {
    reader.close();
  }
}

function numberOf(value: unknown): number {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'number' ? value : Number.NaN;
}

function metricField(name: string): (typeof METRICS)[number] {
  const known = METRICS.filter(({ column }) => METRIC_NAMES.includes(column));
  const found = known.find(({ field, column }) => name === field || name === column);
  if (found !== undefined) return found;
  const like = nearest(name, METRIC_NAMES);
  throw new LabError('usage', {
    message: `"${name}" is not a metric${like === null ? '' : `; did you mean ${like}?`}`,
    hint: `metrics: ${METRIC_NAMES.join(', ')}`,
  });
}
