import type { IterationMetrics } from '../../src/domain/run.ts';
import { keysOf } from '../../src/domain/table.ts';
import { ROLLED_BACK } from '../alarms.ts';
import type { ChartView } from '../chart-view.ts';
import { formatBranchPoint, formatCount, formatNumber, formatRate, formatShare } from '../format.ts';
import { Kept } from '../kept.ts';
import { SCHEDULE } from '../knob-desk.ts';
import { type Line, untrusted } from '../line.ts';
import type { RunSnapshot } from '../live-run.ts';
import { type Look } from '../look.ts';
import { parentSpan } from '../parent-curve.ts';
import {
  type CurveName,
  componentCurve,
  curvesOf,
  familyCurve,
  type RunCurves,
  runCurves,
} from '../run-curves.ts';
import { type ChartGrid, type ChartMark, type ChartSeries, type ChartSpec, drawChartGrid } from './chart.ts';
import { extent } from './resample.ts';

/** All of a run that its charts depend on. */
interface ChartedRun
  extends Pick<
    RunSnapshot,
    'iterations' | 'curves' | 'olderRead' | 'parentIterations' | 'knobChanges' | 'alarms' | 'turns'
  > {
  readonly parent: RunSnapshot['manifest']['parent'];
  /** 0 while nobody knows. */
  readonly klTarget: number;
}

function chartedRun(run: RunSnapshot): ChartedRun {
  const { iterations, curves, olderRead, parentIterations, knobChanges, alarms, turns } = run;
  return {
    iterations,
    parentIterations,
    knobChanges,
    alarms,
    turns,
    ...(curves === undefined ? {} : { curves }),
    ...(olderRead === undefined ? {} : { olderRead }),
    parent: run.manifest.parent,
    klTarget: run.status?.knobs.kl_target ?? 0,
  };
}

/** Four charts of one page. All share their x axis, their marks, and the curve of the run that this one was branched from. */
export function runCharts(snapshot: RunSnapshot, view: ChartView): ChartSpec[] {
  const run = chartedRun(snapshot);
  const curves = runCurves(run);
  const { cursor, log } = view;
  const all = curves.span ?? [0, 0];
  const window = view.shown(all);
  const [from, to] = window ?? all;
  const xs = curves.positions(from, to);
  const marks = [
    ...marksOf(run, curves),
    ...(cursor === null ? [] : [{ x: cursor, kind: 'cursor' } as const]),
  ];
  const frame: Frame = {
    run,
    curves,
    view,
    window,
    shared: { xs, marks, guide: null, log, ...(window === null ? {} : { domain: window }) },
  };
  switch (view.page) {
    case 'run':
      return overviewCharts(frame);
    case 'update':
      return updateCharts(frame);
    case 'rewards':
      return rewardCharts(frame);
    case 'families':
      return familyCharts(frame);
  }
}

interface Frame {
  readonly run: ChartedRun;
  readonly curves: RunCurves;
  readonly view: ChartView;
  /** Iterations that are shown; null: all of them. */
  readonly window: readonly [number, number] | null;
  readonly shared: Pick<ChartSpec, 'xs' | 'marks' | 'guide' | 'log' | 'domain'>;
}

const SECOND = { tone: 'second', stroke: 'dashed', axis: 'right' } as const;

/** Throughput, KL, reward, success. */
function overviewCharts(frame: Frame): ChartSpec[] {
  const { run, shared } = frame;
  const span = spanOf(frame);
  const target = run.klTarget;
  const curves = (name: CurveName, look: Partial<ChartSeries>): ChartSeries[] => [
    ownCurve(frame, name, look),
    ...parentCurve(frame, name, look),
  ];
  return [
    {
      ...shared,
      title: 'env steps/s',
      series: curves('envStepsPerS', { format: formatRate }),
      low: 0,
    },
    {
      ...shared,
      title: 'KL',
      series: [
        ...curves('kl', {}),
        ownCurve(frame, 'clipFraction', {
          ...SECOND,
          label: 'clipped',
          format: formatShare,
        }),
      ],
      guide: target > 0 ? { label: `target ${formatNumber(target)}`, value: target } : null,
      notes: klNotes(run.iterations.at(-1)),
      low: 0,
    },
    { ...shared, ...span, title: 'mean reward', series: curves('reward', {}) },
    {
      ...shared,
      ...span,
      title: 'success',
      series: [
        ...curves('success', { label: 'train', format: formatShare }),
        ownCurve(frame, 'heldOutSuccess', {
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
function updateCharts(frame: Frame): ChartSpec[] {
  const { shared } = frame;
  const span = spanOf(frame);
  const curve = (name: CurveName, look: Partial<ChartSeries> = {}): ChartSeries =>
    ownCurve(frame, name, look);
  return [
    {
      ...shared,
      title: 'policy loss',
      series: [curve('policyLoss'), curve('gradientNorm', { ...SECOND, label: 'gradient norm' })],
    },
    {
      ...shared,
      title: 'value loss',
      series: [
        curve('valueLoss'),
        curve('explainedVariance', { ...SECOND, label: 'explained', format: formatShare }),
      ],
    },
    {
      ...shared,
      ...span,
      title: 'entropy',
      series: [curve('entropy'), curve('klCoefficient', { ...SECOND, label: 'KL coefficient' })],
      low: 0,
    },
    {
      ...shared,
      ...span,
      title: 'staleness',
      series: [
        curve('staleness'),
        curve('staleSteps', { ...SECOND, label: 'steps left out', format: formatCount }),
      ],
      low: 0,
    },
  ];
}

/** Components in a chart: more curves than these cannot be told apart. */
const COMPONENTS = 2;

/** What episodes are paid for: each component's mean, those that move the reward most first; then what could not be paid at all. */
function rewardCharts(frame: Frame): ChartSpec[] {
  const { run, shared } = frame;
  const newest = run.iterations.at(-1)?.components ?? {};
  const size = (name: string): number => Math.abs(newest[name] ?? 0);
  const names = keysOf(newest).toSorted((a, b) => size(b) - size(a) || a.localeCompare(b));
  const ofComponent = (name: string, place: number): ChartSeries =>
    ownCurve(frame, componentCurve(name), {
      ...(place === 0 ? {} : { ...SECOND, axis: 'left' }),
      label: untrusted(name),
    });
  const pairs = Array.from({ length: CHARTS - 1 }, (_, pair) =>
    names.slice(pair * COMPONENTS, (pair + 1) * COMPONENTS),
  );
  const charts = pairs.map((pair) => ({ title: 'paid', series: pair.map(ofComponent) }));
  const shares = [
    ownCurve(frame, 'voidShare', { label: 'void', format: formatShare }),
    ownCurve(frame, 'truncatedShare', { ...SECOND, axis: 'left', label: 'truncated', format: formatShare }),
  ];
  return [...charts, { title: 'share', series: shares, low: 0 }].map(
    (chart, place): ChartSpec => ({ ...shared, ...(place >= CHARTS / 2 ? spanOf(frame) : {}), ...chart }),
  );
}

/** Families of one chart: more curves than these cannot be told apart. */
const FAMILIES = 2;
const CHARTS = 4;

/** Held-out success by family, the weakest first, two to a chart; then the shares of void and truncated episodes. */
function familyCharts(frame: Frame): ChartSpec[] {
  const { run, shared } = frame;
  const newest = run.iterations.at(-1)?.heldOutByFamily ?? {};
  const families = keysOf(newest).toSorted((a, b) => (newest[a] ?? 0) - (newest[b] ?? 0));
  const curve = (name: CurveName, look: Partial<ChartSeries> = {}): ChartSeries =>
    ownCurve(frame, name, { format: formatShare, ...look });
  const ofFamily = (family: string, place: number): ChartSeries =>
    curve(familyCurve(family), {
      ...(place % FAMILIES === 0 ? {} : { ...SECOND, axis: 'left' }),
      label: untrusted(family),
    });
  const pairs = Array.from({ length: Math.ceil(families.length / FAMILIES) }, (_, pair) =>
    families.slice(pair * FAMILIES, (pair + 1) * FAMILIES),
  );
  const charts = [
    // All on one scale: 2 % of one family must not stand as high as 90 % of the next.
    ...pairs.map((pair) => ({ title: 'held-out', series: pair.map(ofFamily), high: 1 })),
    { title: 'void share', series: [curve('voidShare')] },
    { title: 'truncated share', series: [curve('truncatedShare')] },
    { title: 'steps an episode', series: [curve('meanSteps', { format: formatNumber })] },
    { title: 'batch steps', series: [curve('batchSteps', { format: formatCount })] },
  ];
  return charts.slice(0, CHARTS).map((chart, place): ChartSpec => {
    const span = place >= CHARTS / 2 ? spanOf(frame) : {};
    return { ...shared, ...span, ...chart, low: 0 };
  });
}

/** The first and the last iteration there is. */
export function iterationSpan(run: Pick<RunSnapshot, 'curves' | 'iterations'>): readonly [number, number] {
  return runCurves(run).span ?? [0, 0];
}

function ownCurve(
  { curves, view, window }: Pick<Frame, 'curves' | 'view' | 'window'>,
  name: CurveName,
  look: Partial<ChartSeries>,
): ChartSeries {
  const { smoothing, cursor } = view;
  const [from, to] = window ?? curves.span ?? [0, 0];
  const { xs, ys } = curves.curve(name, { from, to, smoothing });
  return {
    label: '',
    xs,
    ys,
    tone: 'first',
    stroke: 'solid',
    axis: 'left',
    format: formatNumber,
    ...(cursor === null ? {} : { current: curves.valueFrom(name, cursor, smoothing) }),
    ...look,
  };
}

/** The same figure of the run's parent, with its value at the iteration that the run has come to; nothing without one. */
function parentCurve(
  { run, view, window }: Frame,
  name: CurveName,
  look: Partial<ChartSeries>,
): ChartSeries[] {
  const { parent } = run;
  const rows = parentRows(run, window);
  if (parent === null || rows.length === 0) return [];
  const curves = curvesOf(rows);
  const reached = run.iterations.at(-1)?.iteration ?? parent.iteration;
  const beside = curves.valueFrom(name, reached, 0);
  return [
    {
      ...ownCurve({ curves, view, window }, name, look),
      current: Number.isFinite(beside) ? beside : curves.newest(name, 0),
      label: formatBranchPoint(parent),
      shortLabel: 'parent',
      tone: 'guide',
      stroke: 'dotted',
    },
  ];
}

/** The part of the parent that is shown. */
function parentRows(run: ChartedRun, window: Frame['window']): readonly IterationMetrics[] {
  const { parent, parentIterations } = run;
  if (parent === null) return [];
  const { after, until } = parentSpan(parent.iteration, iterationSpan(run)[1]);
  const [first, last] = window ?? [after + 1, until];
  const key = `${first} ${last}`;
  const known = SHOWN.get(parentIterations);
  if (known?.key === key) return known.rows;
  const isShown = ({ iteration }: IterationMetrics): boolean =>
    iteration >= Math.max(first, after + 1) && iteration <= Math.min(last, until);
  const rows = parentIterations.filter(isShown);
  SHOWN.set(parentIterations, { key, rows });
  return rows;
}

/** The part of a parent that was shown last: charts are drawn at every key. */
const SHOWN = new WeakMap<
  readonly IterationMetrics[],
  { readonly key: string; readonly rows: readonly IterationMetrics[] }
>();

/**
 * What was done to the run or happened to its processes; knobs turned by anybody but the schedule, which turns them all the
 * time; updates that were rolled back.
 */
function marksOf({ knobChanges, alarms, turns }: ChartedRun, curves: RunCurves): ChartMark[] {
  const knobs = knobChanges
    .filter(({ who }) => who !== SCHEDULE)
    .map(({ iteration }): ChartMark => ({ x: iteration, kind: 'knob' }));
  // The update that was dropped has no row: the next one that was made has its place.
  const at = (time: number): number => (curves.length === 0 ? 0 : curves.iterationAfter(time));
  const rolledBack = alarms
    .filter(({ kind }) => kind === ROLLED_BACK)
    .map(({ time }): ChartMark => ({ x: at(time), kind: 'trouble' }));
  const events = turns.map(({ time }): ChartMark => ({ x: at(time), kind: 'event' }));
  return [...events, ...knobs, ...rolledBack];
}

/** The notation of filters: `iter:1..47` finds the episodes of the chart. */
function spanOf({ run, curves, view, window }: Frame): { readonly span?: string } {
  const { cursor, smoothing, log } = view;
  const own = window ?? curves.span;
  const parent = parentRows(run, window);
  const ends = extent([
    ...(curves.length === 0 || own === null ? [] : own),
    ...[parent[0], parent.at(-1)].flatMap((row) => row?.iteration ?? []),
  ]);
  if (ends === null) return {};
  const older = run.olderRead ?? 1;
  const how = [
    ...(older < 1 ? [`reading ${formatShare(older)}`] : []),
    ...(smoothing > 0 ? [`mean ${smoothing}`] : []),
    ...(log ? ['log'] : []),
  ];
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

const DRAWN = new Kept<readonly Line[]>();

/** The charts in a grid of one or two columns, each `height` rows high: the same lines while nothing of them changes. */
export function drawRunCharts(
  run: RunSnapshot,
  view: ChartView,
  grid: ChartGrid,
  look: Look,
): readonly Line[] {
  const { page, smoothing, log, window, isAtEnd } = view.state;
  const { width, columns, height } = grid;
  // Curves grow where they are.
  const data = [...Object.values(chartedRun(run)), runCurves(run).length];
  const how = [page, smoothing, log, view.cursor, isAtEnd, ...(window ?? [])];
  const of = [...data, ...how, width, columns, height, look];
  return DRAWN.get(of, () => drawChartGrid(runCharts(run, view), grid, look));
}
