import type { IterationMetrics } from '../../src/domain/run.ts';
import { formatNumber, formatRate, formatShare } from '../format.ts';
import { type Line, seg } from '../line.ts';
import type { RunSnapshot } from '../live-run.ts';
import { type Look } from '../look.ts';
import { type ChartSeries, type ChartSpec, drawChart } from './chart.ts';

/** The four live charts: throughput, KL, reward, success. All share their x axis and the marks of turned knobs. */
export function runCharts(run: RunSnapshot): ChartSpec[] {
  const rows = run.iterations;
  const xs = rows.map(({ iteration }) => iteration);
  const marks = run.knobChanges.map(({ iteration }) => iteration);
  const shared = { xs, marks, guide: null };
  // The notation of filters: `iter:1..47` finds the episodes of the chart.
  const span = xs.length === 0 ? {} : { span: `iter ${xs[0]}..${xs.at(-1)}` };
  const target = run.status?.knobs.kl_target ?? 0;
  const curve = (
    pick: (row: IterationMetrics) => number | null,
    look: Partial<ChartSeries>,
  ): ChartSeries => ({
    label: '',
    ys: rows.map((row) => pick(row) ?? Number.NaN),
    tone: 'first',
    dashed: false,
    axis: 'left',
    format: formatNumber,
    ...look,
  });
  const second = { tone: 'second', dashed: true } as const;
  return [
    {
      ...shared,
      title: 'env steps/s',
      series: [curve(({ envStepsPerS }) => envStepsPerS, { format: formatRate })],
      low: 0,
    },
    {
      ...shared,
      title: 'KL',
      series: [
        curve(({ kl }) => kl, {}),
        curve(({ clipFraction }) => clipFraction, {
          ...second,
          label: 'clipped',
          axis: 'right',
          format: formatShare,
        }),
      ],
      guide: target > 0 ? { label: `target ${formatNumber(target)}`, value: target } : null,
      low: 0,
    },
    { ...shared, ...span, title: 'mean reward', series: [curve(({ reward }) => reward, {})] },
    {
      ...shared,
      ...span,
      title: 'success',
      series: [
        curve(({ success }) => success, { label: 'train', format: formatShare }),
        curve(({ heldOutSuccess }) => heldOutSuccess, { ...second, label: 'held-out', format: formatShare }),
      ],
      low: 0,
      high: 1,
    },
  ];
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
