import type { IterationMetrics } from '../../src/domain/run.ts';
import { ROLLED_BACK } from '../alarms.ts';
import { formatBranchPoint, formatCount, formatNumber, formatRate, formatShare } from '../format.ts';
import { SCHEDULE } from '../knob-desk.ts';
import { type Line, seg } from '../line.ts';
import type { RunSnapshot } from '../live-run.ts';
import { type Look } from '../look.ts';
import { type ChartMark, type ChartSeries, type ChartSpec, drawChart } from './chart.ts';
import { extent } from './resample.ts';

/**
 * The four live charts: throughput, KL, reward, success. All share their x axis, the marks of what was turned and rolled
 * back, and the curve of the run that this one was branched from.
 */
export function runCharts(run: RunSnapshot): ChartSpec[] {
  const xs = run.iterations.map(({ iteration }) => iteration);
  const shared = { xs, marks: marksOf(run), guide: null };
  const span = spanOf(run);
  const target = run.status?.knobs.kl_target ?? 0;
  const second = { tone: 'second', stroke: 'dashed' } as const;
  const curves = (pick: Pick, look: Partial<ChartSeries>): ChartSeries[] => [
    ownCurve(run, pick, look),
    ...parentCurve(run, pick, look),
  ];
  return [
    {
      ...shared,
      title: 'env steps/s',
      series: curves(({ envStepsPerS }) => envStepsPerS, { format: formatRate }),
      low: 0,
    },
    {
      ...shared,
      title: 'KL',
      series: [
        ...curves(({ kl }) => kl, {}),
        ownCurve(run, ({ clipFraction }) => clipFraction, {
          ...second,
          label: 'clipped',
          axis: 'right',
          format: formatShare,
        }),
      ],
      guide: target > 0 ? { label: `target ${formatNumber(target)}`, value: target } : null,
      notes: klNotes(run.iterations.at(-1)),
      low: 0,
    },
    { ...shared, ...span, title: 'mean reward', series: curves(({ reward }) => reward, {}) },
    {
      ...shared,
      ...span,
      title: 'success',
      series: [
        ...curves(({ success }) => success, { label: 'train', format: formatShare }),
        ownCurve(run, ({ heldOutSuccess }) => heldOutSuccess, {
          ...second,
          label: 'held-out',
          format: formatShare,
        }),
      ],
      low: 0,
      high: 1,
    },
  ];
}

/** Iterations of the parent that are shown before and after the branch at least. */
const LEAST_CONTEXT = 20;

type Pick = (row: IterationMetrics) => number | null;

function ownCurve({ iterations }: RunSnapshot, pick: Pick, look: Partial<ChartSeries>): ChartSeries {
  return {
    label: '',
    ys: iterations.map((row) => pick(row) ?? Number.NaN),
    tone: 'first',
    stroke: 'solid',
    axis: 'left',
    format: formatNumber,
    ...look,
  };
}

/** The same figure of the run's parent, with its value at the iteration that the run has come to; nothing without one. */
function parentCurve(run: RunSnapshot, pick: Pick, look: Partial<ChartSeries>): ChartSeries[] {
  const { parent } = run.manifest;
  const rows = parentRows(run);
  if (parent === null || rows.length === 0) return [];
  const reached = run.iterations.at(-1)?.iteration ?? parent.iteration;
  const beside = rows.find(({ iteration }) => iteration === reached) ?? rows.at(-1);
  return [
    {
      ...ownCurve({ ...run, iterations: rows }, pick, look),
      xs: rows.map(({ iteration }) => iteration),
      current: beside === undefined ? Number.NaN : (pick(beside) ?? Number.NaN),
      label: formatBranchPoint(parent),
      shortLabel: 'parent',
      tone: 'guide',
      stroke: 'dotted',
    },
  ];
}

/**
 * The part of the parent that is shown: on either side of the branch as much as the branch is long. A young branch of a
 * long run would otherwise be a dot beside it.
 */
function parentRows({ manifest, iterations, parentIterations }: RunSnapshot): readonly IterationMetrics[] {
  if (manifest.parent === null) return [];
  const from = manifest.parent.iteration;
  const to = Math.max(from, iterations.at(-1)?.iteration ?? from);
  const margin = Math.max(LEAST_CONTEXT, to - from);
  return parentIterations.filter(({ iteration }) => iteration >= from - margin && iteration <= to + margin);
}

/** Knobs turned by anybody but the schedule, which turns them all the time; updates that were rolled back. */
function marksOf({ knobChanges, alarms, iterations }: RunSnapshot): ChartMark[] {
  const knobs = knobChanges
    .filter(({ who }) => who !== SCHEDULE)
    .map(({ iteration }): ChartMark => ({ x: iteration, kind: 'knob' }));
  const last = iterations.at(-1)?.iteration ?? 0;
  // The update that was dropped has no row: the next one that was made has its place.
  const rolledBack = alarms
    .filter(({ kind }) => kind === ROLLED_BACK)
    .map(({ time }): ChartMark => {
      return { x: iterations[countUntil(iterations, time)]?.iteration ?? last, kind: 'trouble' };
    });
  return [...knobs, ...rolledBack];
}

/** How many rows were made until `time`, in ms; they are in order. Halving: a chart is drawn at every key. */
function countUntil(rows: readonly IterationMetrics[], time: number): number {
  let [from, to] = [0, rows.length];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if ((rows[middle]?.time ?? 0) > time) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** The notation of filters: `iter:1..47` finds the episodes of the chart. */
function spanOf(run: RunSnapshot): { readonly span?: string } {
  const ends = extent(
    [run.iterations, parentRows(run)].flatMap((rows) => [
      rows[0]?.iteration ?? Number.NaN,
      rows.at(-1)?.iteration ?? Number.NaN,
    ]),
  );
  return ends === null ? {} : { span: `iter ${ends[0]}..${ends[1]}` };
}

/** Age of the samples in policy versions, mean/most, and the estimates of KL from the actions taken. */
function klNotes(row: IterationMetrics | undefined): string[] {
  if (row === undefined) return [];
  const { klK1, klK3, staleness, stalest } = row;
  const estimates = klK1 === null || klK3 === null ? [] : [`k1/k3 ${twoDigits(klK1)}/${twoDigits(klK3)}`];
  return [...estimates, `stale ${twoDigits(staleness)}/${formatCount(stalest)}`];
}

function twoDigits(value: number): string {
  return formatNumber(Number(value.toPrecision(2)));
}

/** The charts in a grid of one or two columns, each `height` rows high. */
export function drawRunCharts(
  run: RunSnapshot,
  grid: { readonly width: number; readonly columns: 1 | 2; readonly height: number },
  look: Look,
): Line[] {
  const charts = runCharts(run);
  if (grid.columns === 1) {
    return charts.flatMap((chart) => drawChart(chart, { width: grid.width, height: grid.height }, look));
  }
  const leftWidth = Math.floor((grid.width - 1) / 2);
  const rightWidth = grid.width - 1 - leftWidth;
  return [0, 2].flatMap((first) => {
    const [left, right] = charts.slice(first, first + 2);
    if (left === undefined || right === undefined) return [];
    const rightRows = drawChart(right, { width: rightWidth, height: grid.height }, look);
    return drawChart(left, { width: leftWidth, height: grid.height }, look).map((row, index) => [
      ...row,
      seg(' '),
      ...(rightRows[index] ?? []),
    ]);
  });
}
