import type { IterationMetrics } from '../../src/domain/run.ts';
import { keysOf } from '../../src/domain/table.ts';
import { ROLLED_BACK } from '../alarms.ts';
import type { ChartView } from '../chart-view.ts';
import { formatBranchPoint, formatCount, formatNumber, formatRate, formatShare } from '../format.ts';
import { SCHEDULE } from '../knob-desk.ts';
import { type Line, untrusted } from '../line.ts';
import type { RunSnapshot } from '../live-run.ts';
import { type Look } from '../look.ts';
import { type ChartGrid, type ChartMark, type ChartSeries, type ChartSpec, drawChartGrid } from './chart.ts';
import { extent } from './resample.ts';

/** Four charts of one page. All share their x axis, their marks, and the curve of the run that this one was branched from. */
export function runCharts(whole: RunSnapshot, view: ChartView): ChartSpec[] {
  const run = shownPart(whole, view);
  const xs = run.iterations.map(({ iteration }) => iteration);
  const { cursor, window, log } = view;
  const marks = [...marksOf(run), ...(cursor === null ? [] : [{ x: cursor, kind: 'cursor' } as const])];
  const frame: Frame = {
    run,
    view,
    shared: { xs, marks, guide: null, log, ...(window === null ? {} : { domain: window }) },
  };
  switch (view.page) {
    case 'run':
      return overviewCharts(frame);
    case 'update':
      return updateCharts(frame);
    case 'families':
      return familyCharts(frame);
  }
}

interface Frame {
  readonly run: RunSnapshot;
  readonly view: ChartView;
  readonly shared: Pick<ChartSpec, 'xs' | 'marks' | 'guide' | 'log' | 'domain'>;
}

const SECOND = { tone: 'second', stroke: 'dashed', axis: 'right' } as const;

/** Throughput, KL, reward, success. */
function overviewCharts({ run, view, shared }: Frame): ChartSpec[] {
  const span = spanOf(run, view);
  const target = run.status?.knobs.kl_target ?? 0;
  const curves = (pick: Figure, look: Partial<ChartSeries>): ChartSeries[] => [
    ownCurve(run, view, pick, look),
    ...parentCurve(run, view, pick, look),
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
        ownCurve(run, view, ({ clipFraction }) => clipFraction, {
          ...SECOND,
          label: 'clipped',
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
        ownCurve(run, view, ({ heldOutSuccess }) => heldOutSuccess, {
          ...SECOND,
          axis: 'left',
          label: 'held-out',
          format: formatShare,
        }),
      ],
      low: 0,
      high: 1,
    },
  ];
}

/** Losses, entropy, what the value head explains, and staleness. */
function updateCharts({ run, view, shared }: Frame): ChartSpec[] {
  const span = spanOf(run, view);
  const curve = (pick: Figure, look: Partial<ChartSeries> = {}): ChartSeries =>
    ownCurve(run, view, pick, look);
  return [
    {
      ...shared,
      title: 'policy loss',
      series: [
        curve((row) => row.policyLoss),
        curve((row) => row.gradientNorm, { ...SECOND, label: 'gradient norm' }),
      ],
    },
    {
      ...shared,
      title: 'value loss',
      series: [
        curve((row) => row.valueLoss),
        curve((row) => row.explainedVariance, { ...SECOND, label: 'explained', format: formatShare }),
      ],
    },
    {
      ...shared,
      ...span,
      title: 'entropy',
      series: [
        curve((row) => row.entropy),
        curve((row) => row.klCoefficient, { ...SECOND, label: 'KL coefficient' }),
      ],
      low: 0,
    },
    {
      ...shared,
      ...span,
      title: 'staleness',
      series: [
        curve((row) => row.staleness),
        curve((row) => row.staleSteps, { ...SECOND, label: 'steps left out', format: formatCount }),
      ],
      low: 0,
    },
  ];
}

/** Families of one chart: more curves than these cannot be told apart. */
const FAMILIES = 2;
const CHARTS = 4;

/** Held-out success by family, the weakest first, two to a chart; then the shares of void and truncated episodes. */
function familyCharts({ run, view, shared }: Frame): ChartSpec[] {
  const newest = run.iterations.at(-1)?.heldOutByFamily ?? {};
  const families = keysOf(newest).toSorted((a, b) => (newest[a] ?? 0) - (newest[b] ?? 0));
  const curve = (pick: Figure, look: Partial<ChartSeries> = {}): ChartSeries =>
    ownCurve(run, view, pick, { format: formatShare, ...look });
  const ofFamily = (family: string, place: number): ChartSeries =>
    curve(({ heldOutByFamily }) => heldOutByFamily[family] ?? null, {
      ...(place % FAMILIES === 0 ? {} : { ...SECOND, axis: 'left' }),
      label: untrusted(family),
    });
  const pairs = Array.from({ length: Math.ceil(families.length / FAMILIES) }, (_, pair) =>
    families.slice(pair * FAMILIES, (pair + 1) * FAMILIES),
  );
  const charts = [
    ...pairs.map((pair) => ({ title: 'held-out', series: pair.map(ofFamily) })),
    { title: 'void share', series: [curve(({ voidShare }) => voidShare)] },
    { title: 'truncated share', series: [curve(({ truncatedShare }) => truncatedShare)] },
    { title: 'steps an episode', series: [curve(({ meanSteps }) => meanSteps, { format: formatNumber })] },
    { title: 'batch steps', series: [curve(({ batchSteps }) => batchSteps, { format: formatCount })] },
  ];
  return charts.slice(0, CHARTS).map((chart, place): ChartSpec => {
    const span = place >= CHARTS / 2 ? spanOf(run, view) : {};
    return { ...shared, ...span, ...chart, low: 0 };
  });
}

/** The iterations that the view has in its window. */
function shownPart(run: RunSnapshot, { window }: ChartView): RunSnapshot {
  if (window === null) return run;
  const [from, to] = window;
  const within = ({ iteration }: IterationMetrics): boolean => iteration >= from && iteration <= to;
  return {
    ...run,
    iterations: run.iterations.filter(within),
    parentIterations: run.parentIterations.filter(within),
  };
}

/** The first and the last iteration there is. */
export function iterationSpan({ iterations }: RunSnapshot): readonly [number, number] {
  return [iterations[0]?.iteration ?? 0, iterations.at(-1)?.iteration ?? 0];
}

/** Iterations of the parent that are shown before and after the branch at least. */
const LEAST_CONTEXT = 20;

type Figure = (row: IterationMetrics) => number | null;

function ownCurve(
  { iterations }: Pick<RunSnapshot, 'iterations'>,
  { smoothing, cursor }: ChartView,
  pick: Figure,
  look: Partial<ChartSeries>,
): ChartSeries {
  const ys = smoothed(
    iterations.map((row) => pick(row) ?? Number.NaN),
    smoothing,
  );
  const at = cursor === null ? -1 : iterations.findIndex(({ iteration }) => iteration >= cursor);
  return {
    label: '',
    ys,
    tone: 'first',
    stroke: 'solid',
    axis: 'left',
    format: formatNumber,
    ...(at < 0 ? {} : { current: ys[at] ?? Number.NaN }),
    ...look,
  };
}

/**
 * Running mean that forgets: m ← w·m + (1 − w)·y, divided by 1 − wⁿ so that the first values are not drawn to 0 (Kingma & Ba 2015,
 * section 3). A gap stays one.
 */
export function smoothed(ys: readonly number[], weight: number): readonly number[] {
  if (weight === 0) return ys;
  let [mean, share] = [0, 0];
  return ys.map((y) => {
    if (!Number.isFinite(y)) return y;
    mean = weight * mean + (1 - weight) * y;
    share = weight * share + (1 - weight);
    return mean / share;
  });
}

/** The same figure of the run's parent, with its value at the iteration that the run has come to; nothing without one. */
function parentCurve(
  run: RunSnapshot,
  view: ChartView,
  pick: Figure,
  look: Partial<ChartSeries>,
): ChartSeries[] {
  const { parent } = run.manifest;
  const rows = parentRows(run);
  if (parent === null || rows.length === 0) return [];
  const reached = run.iterations.at(-1)?.iteration ?? parent.iteration;
  const beside = rows.find(({ iteration }) => iteration === reached) ?? rows.at(-1);
  return [
    {
      ...ownCurve({ iterations: rows }, view, pick, look),
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
function spanOf(run: RunSnapshot, { cursor, smoothing, log }: ChartView): { readonly span?: string } {
  const ends = extent(
    [run.iterations, parentRows(run)].flatMap((rows) => [
      rows[0]?.iteration ?? Number.NaN,
      rows.at(-1)?.iteration ?? Number.NaN,
    ]),
  );
  if (ends === null) return {};
  const how = [...(smoothing > 0 ? [`mean ${smoothing}`] : []), ...(log ? ['log'] : [])];
  const where =
    cursor === null ? `iter ${ends[0]}..${ends[1]}` : `at iter ${cursor} of ${ends[0]}..${ends[1]}`;
  return { span: [...how, where].join(', ') };
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
export function drawRunCharts(run: RunSnapshot, view: ChartView, grid: ChartGrid, look: Look): Line[] {
  return drawChartGrid(runCharts(run, view), grid, look);
}
