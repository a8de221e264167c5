import {
  fit,
  fitLine,
  joinFitting,
  type Line,
  lineWidth,
  type Segment,
  seg,
  spread,
  textWidth,
} from '../line.ts';
import { type Look, symbolsOf, type Tone } from '../look.ts';
import { Canvas, DOTS } from './canvas.ts';
import { type ColumnRange, columnOf, extent, resample } from './resample.ts';

/** How a curve is drawn, so that curves stay apart without colour: in one piece, with gaps, or a dot here and there. */
export type Stroke = 'solid' | 'dashed' | 'dotted';

export interface ChartSeries {
  /** Names the curve beside its current value; empty when the title says it already. */
  readonly label: string;
  /** Names it where there is no room for the label; only for dotted curves. */
  readonly shortLabel?: string;
  /** Ascending positions of its values, where they are not the chart's `xs`. */
  readonly xs?: readonly number[];
  /** One value for each position; NaN is a gap. */
  readonly ys: readonly number[];
  /** The value in the title, where it is not the last one. */
  readonly current?: number;
  readonly tone: Tone;
  readonly stroke: Stroke;
  /** The side whose scale it uses. */
  readonly axis: 'left' | 'right';
  readonly format: (value: number) => string;
}

/** A vertical line through a chart: something was done to the run there, a knob was turned, or an update rolled back. */
export interface ChartMark {
  readonly x: number;
  /** The cursor is where the user reads values. */
  readonly kind: 'event' | 'knob' | 'trouble' | 'cursor';
}

export interface ChartSpec {
  readonly title: string;
  /** Ascending positions of the values: iterations. */
  readonly xs: readonly number[];
  readonly series: readonly ChartSeries[];
  /** A level to compare the left axis with. */
  readonly guide: { readonly label: string; readonly value: number } | null;
  readonly marks: readonly ChartMark[];
  /** Further figures for the title, the most wanted first: as many whole ones as there is room for. */
  readonly notes?: readonly string[];
  /** What the x axis spans, for the end of the title; left out where another chart says it. */
  readonly span?: string;
  /** Positions that are shown, where that is not all of them. */
  readonly domain?: readonly [number, number];
  /** Logarithmic scales, where all values of a side are above 0. */
  readonly log?: boolean;
  /** The left axis reaches at least from `low` to `high`. */
  readonly low?: number;
  readonly high?: number;
}

interface Scale {
  readonly low: number;
  readonly high: number;
  readonly log: boolean;
}

const GUTTER = 6;
/** Between the parts of a title. */
const GAP = '  ';

/**
 * The chart as `height` rows of exactly `width` columns: a title with current values, then the plot; or one row. Where curves
 * are told, one row all the same.
 */
export function drawChart(
  chart: ChartSpec,
  size: { readonly width: number; readonly height: number },
  look: Look,
): Segment[][] {
  if (size.height < 1) return [];
  if (look.told === true) return [tell(chart, size.width, look)];
  if (size.height === 1) return [drawSparkline(chart, size.width, look)];
  const span: Line = chart.span === undefined ? [] : [seg(chart.span, 'dim')];
  const head = fullTitle(chart, size.width, span.length === 0 ? 0 : lineWidth(span) + 1, look);
  return [spread(head, span, size.width, look), ...plot(chart, size.width, size.height - 1, look)];
}

/** Columns that four charts share. */
export interface ChartGrid {
  readonly width: number;
  readonly columns: 1 | 2;
  /** Rows of a chart. */
  readonly height: number;
}

/** Four charts below each other, or two and two. */
export function drawChartGrid(
  charts: readonly ChartSpec[],
  { width, columns, height }: ChartGrid,
  look: Look,
): Line[] {
  if (columns === 1) return charts.flatMap((chart) => drawChart(chart, { width, height }, look));
  const leftWidth = Math.floor((width - 1) / 2);
  const rightWidth = width - 1 - leftWidth;
  return [0, 2].flatMap((first) => {
    const [left, right] = charts.slice(first, first + 2);
    if (left === undefined || right === undefined) return [];
    const rightRows = drawChart(right, { width: rightWidth, height }, look);
    return drawChart(left, { width: leftWidth, height }, look).map((row, index) => [
      ...row,
      seg(' '),
      ...(rightRows[index] ?? []),
    ]);
  });
}

/**
 * The title with the curves to compare with, by their full names if possible, and as many notes as fit beside the span. The
 * span gives way to the curves, not to notes.
 */
function fullTitle(chart: ChartSpec, width: number, spanWidth: number, look: Look): Line {
  const compared = chart.series.filter(({ stroke }) => stroke === 'dotted');
  const full = compared.map((series) => legend(series, look));
  const short = compared.map((series) =>
    legend({ ...series, label: series.shortLabel ?? series.label }, look),
  );
  const start = title(chart, look);
  const joined = [full, short].map((legends) =>
    joinFitting([start, ...legends], GAP, Number.MAX_SAFE_INTEGER),
  );
  const beside = joined.find((line) => lineWidth(line) <= width - spanWidth);
  const head = beside ?? joined.findLast((line) => lineWidth(line) <= width) ?? start;
  const notes = (chart.notes ?? []).map((note): Line => [seg(note, 'dim')]);
  const all = joinFitting([head, ...notes], GAP, width - spanWidth);
  return all.length === 0 ? head : all;
}

/** Title, current values, and between what the main curve has been. */
function tell(chart: ChartSpec, width: number, look: Look): Segment[] {
  const main = chart.series[0];
  const [from, to] = domainOf(chart);
  const shown = main?.ys.filter((_y, i) => {
    const x = (main.xs ?? chart.xs)[i] ?? Number.NaN;
    return x >= from && x <= to;
  });
  const range = extent(shown ?? []);
  const told =
    main === undefined || range === null
      ? ', nothing yet'
      : `, from ${main.format(range[0])} to ${main.format(range[1])}`;
  return fitLine([...title(chart, look), seg(told)], width, look);
}

/** Title, current value and the main curve in one row. */
function drawSparkline(chart: ChartSpec, width: number, look: Look): Segment[] {
  const label = Math.min(Math.max(12, Math.floor(width / 2)), 28);
  const head = fitLine(title(chart, look), Math.min(label, width), look);
  const columns = Math.max(0, width - lineWidth(head) - 1);
  const main = chart.series[0];
  if (main === undefined || columns < 3) return fitLine(title(chart, look), width, look);
  const domain = domainOf(chart);
  const scale = scaleOf(chart, 'left');
  const { levels } = symbolsOf(look);
  const marks = new Map(
    // In one row a mark takes the place of the value: only what explains it is worth that.
    marksWithin(chart)
      .filter(({ kind }) => kind !== 'event')
      .toSorted(troubleLast)
      .map(({ x, kind }) => [columnOf(x, domain, columns), kind]),
  );
  const cells = resample({ xs: main.xs ?? chart.xs, ys: main.ys }, domain, columns).map(
    (range, column): Segment => {
      const mark = marks.get(column);
      if (mark !== undefined) return seg(mark === 'trouble' ? '!' : symbolsOf(look).bar, MARKS[mark].tone);
      if (range === null) return seg(' ', main.tone);
      const level = Math.round(shareOf(range.high, scale) * (levels.length - 1));
      return seg(levels.charAt(level), main.tone);
    },
  );
  return fitLine([...head, seg(' '), ...joinTones(cells)], width, look);
}

function title(chart: ChartSpec, look: Look): Line {
  const line: Segment[] = [seg(chart.title, 'bold')];
  for (const series of chart.series) {
    if (series.stroke !== 'dotted') line.push(seg(' '), ...legend(series, look));
  }
  if (chart.guide !== null) line.push(seg(`  ${chart.guide.label}`, 'dim'));
  return line;
}

function legend({ label, ys, current, tone, stroke, format }: ChartSeries, look: Look): Line {
  const value = format(current ?? ys.at(-1) ?? Number.NaN);
  const named = `${label === '' ? '' : ` ${label}`} ${value}`;
  return look.told === true ? [seg(named.trimStart())] : [seg(symbolsOf(look)[stroke], tone), seg(named)];
}

const RANKS: Readonly<Record<ChartMark['kind'], number>> = { event: 0, knob: 1, trouble: 2, cursor: 3 };

/** Of marks in one column, a roll-back is seen before a turned knob, and the cursor before both. */
function troubleLast(left: ChartMark, right: ChartMark): number {
  return RANKS[left.kind] - RANKS[right.kind];
}

function plot(chart: ChartSpec, width: number, height: number, look: Look): Segment[][] {
  const hasRight = chart.series.some(({ axis }) => axis === 'right');
  const gutter = width >= 30 ? GUTTER : 0;
  const columns = Math.max(1, width - gutter - 1 - (hasRight ? gutter : 0));
  const canvas = new Canvas(columns, height, look.glyphs);
  const left = scaleOf(chart, 'left');
  const right = scaleOf(chart, 'right');
  // The main curve comes last, so that its colour wins where two share a cell.
  for (const series of chart.series.toReversed()) {
    drawCurve(canvas, chart, { series, scale: series.axis === 'left' ? left : right, columns, height }, look);
  }
  drawMarks(canvas, chart, { columns, height }, look);
  if (chart.guide !== null && !isEmpty(chart)) {
    const row = Math.round((1 - shareOf(chart.guide.value, left)) * (height - 1));
    for (let column = 0; column < columns; column += 1) {
      canvas.put(column, row, look.glyphs === 'ascii' ? '-' : '╌', 'guide');
    }
  }
  const rows = isEmpty(chart) ? waiting(columns, height, look) : canvas.rows();
  const axis = { rows: height, gutter, look, empty: isEmpty(chart) };
  const leftLabels = axisLabels(left, labelFormat(chart, 'left'), axis);
  const rightLabels = axisLabels(right, labelFormat(chart, 'right'), axis);
  return rows.map((row, index) => {
    const end = hasRight ? [seg(fit(` ${rightLabels[index] ?? ''}`, gutter, look), 'dim')] : [];
    const start = seg(fit(leftLabels[index] ?? '', gutter, look, 'right'), 'dim');
    return fitLine([start, seg(symbolsOf(look).bar, 'dim'), ...row, ...end], width, look);
  });
}

const MARKS = {
  event: { unicode: '╎', ascii: "'", tone: 'dim' },
  knob: { unicode: '┊', ascii: '|', tone: 'mark' },
  trouble: { unicode: '┇', ascii: '!', tone: 'bad' },
  cursor: { unicode: '│', ascii: ':', tone: 'accent' },
} as const;

function drawMarks(
  canvas: Canvas,
  chart: ChartSpec,
  { columns, height }: { readonly columns: number; readonly height: number },
  look: Look,
): void {
  const signs = markSigns(look);
  const domain = domainOf(chart);
  // A cell keeps what was put into it first: trouble before knobs.
  for (const { x, kind } of marksWithin(chart).toSorted(troubleLast).toReversed()) {
    const column = columnOf(x, domain, columns);
    for (let row = 0; row < height; row += 1) canvas.put(column, row, signs[kind], MARKS[kind].tone);
  }
}

/** Those of what is shown: on a part of the run, what happened before or after it has no place, not at its edges either. */
function marksWithin({ marks, domain }: ChartSpec): readonly ChartMark[] {
  if (domain === undefined) return marks;
  const [from, to] = domain;
  return marks.filter(({ x }) => x >= from && x <= to);
}

/** The characters that marks are drawn with. */
export function markSigns({ glyphs }: Look): Readonly<Record<ChartMark['kind'], string>> {
  const level = glyphs === 'ascii' ? 'ascii' : 'unicode';
  const { event, knob, trouble, cursor } = MARKS;
  return { event: event[level], knob: knob[level], trouble: trouble[level], cursor: cursor[level] };
}

interface CurveFrame {
  readonly series: ChartSeries;
  readonly scale: Scale;
  readonly columns: number;
  readonly height: number;
}

function drawCurve(canvas: Canvas, chart: ChartSpec, frame: CurveFrame, look: Look): void {
  const { series, scale } = frame;
  const dots = DOTS[look.glyphs];
  const lastDot = frame.height * dots.y - 1;
  const toY = (value: number): number => Math.round((1 - shareOf(value, scale)) * lastDot);
  const points = { xs: series.xs ?? chart.xs, ys: series.ys };
  const ranges = resample(points, domainOf(chart), frame.columns * dots.x);
  const ascii = symbolsOf({ ...look, glyphs: 'ascii' })[series.stroke];
  let before: ColumnRange = null;
  for (const [x, range] of ranges.entries()) {
    if (range !== null && isDrawn(series.stroke, x, dots.x)) {
      for (let y = toY(range.high); y <= toY(range.low); y += 1) canvas.dot(x, y, series.tone, ascii);
      joinColumns(canvas, { x, from: before, to: range, toY }, series);
    }
    before = range;
  }
}

/** Whether a column of dots belongs to the stroke: every one, every other cell, or a dot of every other cell. */
function isDrawn(stroke: Stroke, x: number, dotsPerCell: number): boolean {
  if (stroke === 'solid') return true;
  const place = x % (2 * dotsPerCell);
  return stroke === 'dashed' ? place < dotsPerCell : place === 0;
}

interface Join {
  readonly x: number;
  readonly from: ColumnRange;
  readonly to: ColumnRange;
  readonly toY: (value: number) => number;
}

/** Fills the dots between the ranges of two neighbouring columns, so that a steep curve stays in one piece. */
function joinColumns(canvas: Canvas, { x, from, to, toY }: Join, series: ChartSeries): void {
  if (from === null || to === null || series.stroke !== 'solid') return;
  const ascii = '*';
  for (let y = toY(to.low); y < toY(from.high); y += 1) canvas.dot(x, y, series.tone, ascii);
  for (let y = toY(from.low) + 1; y <= toY(to.high); y += 1) canvas.dot(x, y, series.tone, ascii);
}

function isEmpty({ xs, series }: ChartSpec): boolean {
  return xs.length === 0 && series.every((one) => (one.xs ?? []).length === 0);
}

function waiting(columns: number, height: number, look: Look): Segment[][] {
  const text = 'waiting for the first iteration';
  const shown = textWidth(text) <= columns ? text : 'waiting';
  return Array.from({ length: height }, (_, row) => [
    seg(row === Math.floor(height / 2) ? fit(shown, columns, look) : ' '.repeat(columns), 'dim'),
  ]);
}

interface AxisFrame {
  readonly rows: number;
  readonly gutter: number;
  readonly look: Look;
  readonly empty: boolean;
}

/** The greatest value beside the top row, the least beside the bottom one. */
function axisLabels(scale: Scale, format: (value: number) => string, frame: AxisFrame): string[] {
  if (frame.gutter === 0 || frame.empty) return [];
  return Array.from({ length: frame.rows }, (_, row) => {
    if (row === 0) return axisLabel(scale.high, scale, format);
    return row === frame.rows - 1 ? axisLabel(scale.low, scale, format) : '';
  });
}

/** A value that on this scale cannot be told from 0 is 0; one too long for its place has a single digit. */
function axisLabel(value: number, { low, high, log }: Scale, format: (value: number) => string): string {
  if (!log && Math.abs(value) < (high - low) / 500) return format(0);
  const text = format(value);
  return textWidth(text) <= GUTTER ? text : value.toExponential(0).replace('e+', 'e');
}

function labelFormat(chart: ChartSpec, axis: ChartSeries['axis']): (value: number) => string {
  return chart.series.find((series) => series.axis === axis)?.format ?? String;
}

/** From the first position of all curves to the last. */
function domainOf(chart: ChartSpec): readonly [number, number] {
  if (chart.domain !== undefined) return chart.domain;
  const own = chart.series.map(({ xs }) => xs ?? chart.xs).filter((xs) => xs.length > 0);
  const ends = extent(own.flatMap((xs) => [xs[0] ?? Number.NaN, xs.at(-1) ?? Number.NaN]));
  return ends ?? [0, 0];
}

function scaleOf(chart: ChartSpec, axis: ChartSeries['axis']): Scale {
  const values = chart.series.filter((series) => series.axis === axis).flatMap(({ ys }) => ys);
  const own = extent(values);
  // The bounds that a plain scale begins at have no place on a logarithmic one.
  if (chart.log === true && own !== null && own[0] > 0 && own[0] < own[1]) {
    return { low: own[0], high: own[1], log: true };
  }
  const bounds = axis === 'left' ? [chart.low, chart.high, chart.guide?.value] : [0];
  const [low, high] = extent([...(own ?? []), ...bounds.filter((bound) => bound !== undefined)]) ?? [0, 1];
  if (low < high) return { low, high, log: false };
  // A curve that is 0 all along lies at the bottom: what it measures need not have values below. Others lie in the middle.
  if (low === 0) return { low: 0, high: 1, log: false };
  const room = Math.abs(low) / 2;
  return { low: low - room, high: high + room, log: false };
}

/** Where a value lies between the ends of a scale, in [0, 1]. */
function shareOf(value: number, { low, high, log }: Scale): number {
  const share = log
    ? Math.log(Math.max(value, low) / low) / Math.log(high / low)
    : (value - low) / (high - low);
  return Math.min(1, Math.max(0, share));
}

function joinTones(cells: readonly Segment[]): Segment[] {
  const joined: { text: string; tone: Tone }[] = [];
  for (const { text, tone } of cells) {
    const last = joined.at(-1);
    if (last?.tone === tone) last.text += text;
    else joined.push({ text, tone });
  }
  return joined;
}
