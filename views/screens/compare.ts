import type { IterationMetrics } from '../../src/domain/run.ts';
import { formatCount, formatNumber, formatRate, formatShare } from '../format.ts';
import type { KeyContext } from '../key-binding.ts';
import type { Size } from '../layout.ts';
import { fit, fitLine, type Line, seg, untrusted } from '../line.ts';
import { type Look, symbolsOf, type Tone } from '../look.ts';
import type { ComparedRun, RunComparison } from '../run-comparison.ts';
import type { Toast } from '../toast.ts';
import { type ChartSeries, type ChartSpec, drawChartGrid, type Stroke } from '../widgets/chart.ts';
import { drawFooter, drawMessageRow } from '../widgets/footer.ts';

/** Everything the comparison of runs shows. */
export interface CompareModel {
  readonly comparison: RunComparison;
  readonly toast: Toast | null;
  readonly keys: KeyContext;
}

/** How the curves of the first, second, third and fourth run are drawn. */
const CURVES: readonly { readonly letter: string; readonly tone: Tone; readonly stroke: Stroke }[] = [
  { letter: 'A', tone: 'first', stroke: 'solid' },
  { letter: 'B', tone: 'second', stroke: 'dashed' },
  { letter: 'C', tone: 'mark', stroke: 'dotted' },
  { letter: 'D', tone: 'good', stroke: 'dotted' },
];
/** Title of the table, message and keys. */
const BELOW = 3;
const KEY_WIDTH = 34;

interface Plan {
  readonly columns: 1 | 2;
  readonly height: number;
  readonly table: number;
}

/** The charts take up to 60 %, the table of differences the rest and at least two rows. */
function plan({ columns: width, rows }: Size, runs: number): Plan {
  const rest = Math.max(2, rows - runs - BELOW);
  const columns = width >= 60 ? 2 : 1;
  const chartRows = 4 / columns;
  const wanted = Math.floor((rest * 0.6) / chartRows);
  const height = wanted >= 3 ? Math.min(14, wanted) : Math.min(1, Math.floor((rest - 2) / chartRows));
  return { columns, height: Math.max(0, height), table: rest - Math.max(0, height) * chartRows };
}

/** Rows of the table of differences on a screen. */
export function compareHeight({ runs }: RunComparison, size: Size): number {
  return plan(size, runs.length).table;
}

/** The runs, their curves over iterations on the bench's four charts, and the keys of their configs that differ. */
export function drawCompare(model: CompareModel, size: Size, look: Look): Line[] {
  const { comparison, toast, keys } = model;
  const { columns: width } = size;
  const { columns, height, table } = plan(size, comparison.runs.length);
  return [
    ...comparison.runs.map((run, index) => legend(run, index, width, look)),
    ...drawChartGrid(charts(comparison.runs), { width, columns, height }, look),
    differenceTitle(comparison, width, look),
    ...Array.from({ length: table }, (_, row) => differenceRow(comparison, row, width, look)),
    drawMessageRow({ toast, event: null, now: 0 }, width, look),
    drawFooter('compare', keys, width, look),
  ];
}

function legend({ id, iterations }: ComparedRun, index: number, width: number, look: Look): Line {
  const { letter, tone, stroke } = CURVES[index] ?? {
    letter: '?',
    tone: 'plain' as const,
    stroke: 'solid' as const,
  };
  const last = iterations.at(-1);
  const heldOut =
    iterations.findLast(({ heldOutSuccess }) => heldOutSuccess !== null)?.heldOutSuccess ?? null;
  const figures =
    last === undefined
      ? 'no iteration yet'
      : `iteration ${formatCount(last.iteration)}   reward ${formatNumber(last.reward ?? Number.NaN)}   held-out ${formatShare(heldOut)}`;
  return fitLine(
    [
      seg(`${letter} `, 'bold'),
      seg(`${symbolsOf(look)[stroke].repeat(2)} `, tone),
      seg(untrusted(id), 'bold'),
      seg(`   ${figures}`, 'dim'),
    ],
    width,
    look,
  );
}

type Figure = (row: IterationMetrics) => number | null;

function charts(runs: readonly ComparedRun[]): ChartSpec[] {
  const xs = runs[0]?.iterations.map(({ iteration }) => iteration) ?? [];
  const last = Math.max(0, ...runs.map(({ iterations }) => iterations.at(-1)?.iteration ?? 0));
  const frame = { xs, marks: [], guide: null };
  const curves = (pick: Figure, format: (value: number) => string): ChartSeries[] =>
    runs.map(({ iterations }, index): ChartSeries => {
      const { letter, tone, stroke } = CURVES[index] ??
        CURVES[0] ?? { letter: '', tone: 'first', stroke: 'solid' };
      const ys = iterations.map((row) => pick(row) ?? Number.NaN);
      return {
        label: letter,
        xs: iterations.map(({ iteration }) => iteration),
        ys,
        current: ys.findLast((y) => Number.isFinite(y)) ?? Number.NaN,
        tone,
        stroke,
        axis: 'left',
        format,
      };
    });
  const hasHeldOut = runs.some(({ iterations }) =>
    iterations.some(({ heldOutSuccess }) => heldOutSuccess !== null),
  );
  return [
    {
      ...frame,
      title: 'env steps/s',
      series: curves(({ envStepsPerS }) => envStepsPerS, formatRate),
      low: 0,
    },
    { ...frame, title: 'KL', series: curves(({ kl }) => kl, formatNumber), low: 0 },
    {
      ...frame,
      title: 'mean reward',
      series: curves(({ reward }) => reward, formatNumber),
      span: `iter 1..${last}`,
    },
    {
      ...frame,
      title: hasHeldOut ? 'held-out' : 'success',
      series: curves(({ heldOutSuccess, success }) => (hasHeldOut ? heldOutSuccess : success), formatShare),
      low: 0,
      high: 1,
    },
  ];
}

function differenceTitle({ runs, differences }: RunComparison, width: number, look: Look): Line {
  const title =
    differences.length === 0
      ? 'the configs are the same'
      : `${formatCount(differences.length)} ${differences.length === 1 ? 'key differs' : 'keys differ'}`;
  const heads = runs.map((_, index) =>
    fit(` ${CURVES[index]?.letter ?? ''}`, valueWidth(runs.length, width), look),
  );
  return fitLine([seg(fit(title, keyWidth(width), look), 'bold'), seg(heads.join(''), 'dim')], width, look);
}

function differenceRow({ differences, cursor }: RunComparison, row: number, width: number, look: Look): Line {
  const difference = differences[cursor.top + row];
  if (difference === undefined) return fitLine([], width, look);
  const { key, values } = difference;
  const selected = cursor.top + row === cursor.selected;
  const cells = values.map(
    (value) => ` ${fit(untrusted(value ?? '--'), valueWidth(values.length, width) - 1, look)}`,
  );
  const pointer = selected ? `${symbolsOf(look).pointer} ` : '  ';
  const line = fitLine(
    [seg(fit(`${pointer}${untrusted(key)}`, keyWidth(width), look)), seg(cells.join(''))],
    width,
    look,
  );
  return selected ? line.map(({ text }) => seg(text, 'selected')) : line;
}

function keyWidth(width: number): number {
  return Math.min(KEY_WIDTH, Math.floor(width / 2));
}

function valueWidth(runs: number, width: number): number {
  return Math.max(2, Math.floor((width - keyWidth(width)) / Math.max(1, runs)));
}
