import { fit, fitLine, type Line, lineWidth, type Segment, seg, spread, textWidth } from '../line.ts';
import { type Look, symbolsOf, type Tone } from '../look.ts';
import { Canvas, DOTS } from './canvas.ts';
import { type ColumnRange, columnOf, extent, resample } from './resample.ts';

export interface ChartSeries {
  /** Names the curve beside its current value; empty when the title says it already. */
  readonly label: string;
  /** One value for each of the chart's `xs`; NaN is a gap. */
  readonly ys: readonly number[];
  readonly tone: Tone;
  /** Drawn with gaps, so that two curves stay apart without colour. */
  readonly dashed: boolean;
  /** The side whose scale it uses. */
  readonly axis: 'left' | 'right';
  readonly format: (value: number) => string;
}

export interface ChartSpec {
  readonly title: string;
  /** Ascending positions of the values: iterations. */
  readonly xs: readonly number[];
  readonly series: readonly ChartSeries[];
  /** A level to compare the left axis with. */
  readonly guide: { readonly label: string; readonly value: number } | null;
  /** Positions of vertical marks: iterations at which a knob was turned. */
  readonly marks: readonly number[];
  /** What the x axis spans, for the end of the title; left out where another chart says it. */
  readonly span?: string;
  /** The left axis reaches at least from `low` to `high`. */
  readonly low?: number;
  readonly high?: number;
}

interface Scale {
  readonly low: number;
  readonly high: number;
}

const SPARKS = { unicode: '▁▂▃▄▅▆▇█', ascii: '_.-=+*%#' } as const;
const GUTTER = 6;

/** The chart as `height` rows of exactly `width` columns: a title with current values, then the plot; or one row. */
export function drawChart(
  chart: ChartSpec,
  size: { readonly width: number; readonly height: number },
  look: Look,
): Segment[][] {
  if (size.height <= 1) return size.height < 1 ? [] : [drawSparkline(chart, size.width, look)];
  const span: Line = chart.span === undefined ? [] : [seg(chart.span, 'dim')];
  return [
    spread(title(chart, look), span, size.width, look),
    ...plot(chart, size.width, size.height - 1, look),
  ];
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
  const levels = look.glyphs === 'ascii' ? SPARKS.ascii : SPARKS.unicode;
  const marks = new Set(chart.marks.map((x) => columnOf(x, domain, columns)));
  const cells = resample({ xs: chart.xs, ys: main.ys }, domain, columns).map((range, column): Segment => {
    if (marks.has(column)) return seg(symbolsOf(look).bar, 'mark');
    if (range === null) return seg(' ', main.tone);
    const share = (range.high - scale.low) / (scale.high - scale.low);
    const level = Math.round(Math.min(1, Math.max(0, share)) * (levels.length - 1));
    return seg(levels.charAt(level), main.tone);
  });
  return fitLine([...head, seg(' '), ...joinTones(cells)], width, look);
}

function title(chart: ChartSpec, look: Look): Line {
  const symbols = symbolsOf(look);
  const line: Segment[] = [seg(chart.title, 'bold')];
  for (const { label, ys, tone, dashed, format } of chart.series) {
    const current = ys.at(-1) ?? Number.NaN;
    line.push(seg(` ${dashed ? symbols.dashed : symbols.solid}`, tone));
    line.push(seg(`${label === '' ? '' : ` ${label}`} ${format(current)}`));
  }
  if (chart.guide !== null) line.push(seg(`  ${chart.guide.label}`, 'dim'));
  return line;
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
  const bar = look.glyphs === 'ascii' ? '|' : '┊';
  for (const mark of chart.marks) {
    const column = columnOf(mark, domainOf(chart), columns);
    for (let row = 0; row < height; row += 1) canvas.put(column, row, bar, 'mark');
  }
  if (chart.guide !== null && chart.xs.length > 0) {
    const row = Math.round((1 - shareOf(chart.guide.value, left)) * (height - 1));
    for (let column = 0; column < columns; column += 1) {
      canvas.put(column, row, look.glyphs === 'ascii' ? '-' : '╌', 'guide');
    }
  }
  const rows = chart.xs.length === 0 ? waiting(columns, height, look) : canvas.rows();
  const axis = { rows: height, gutter, look, empty: chart.xs.length === 0 };
  const leftLabels = axisLabels(left, labelFormat(chart, 'left'), axis);
  const rightLabels = axisLabels(right, labelFormat(chart, 'right'), axis);
  return rows.map((row, index) => {
    const end = hasRight ? [seg(fit(` ${rightLabels[index] ?? ''}`, gutter, look), 'dim')] : [];
    const start = seg(fit(leftLabels[index] ?? '', gutter, look, 'right'), 'dim');
    return fitLine([start, seg(symbolsOf(look).bar, 'dim'), ...row, ...end], width, look);
  });
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
  const ranges = resample({ xs: chart.xs, ys: series.ys }, domainOf(chart), frame.columns * dots.x);
  let before: ColumnRange = null;
  for (const [x, range] of ranges.entries()) {
    if (range !== null && !(series.dashed && x % (2 * dots.x) >= dots.x)) {
      const ascii = series.dashed ? 'o' : '*';
      for (let y = toY(range.high); y <= toY(range.low); y += 1) canvas.dot(x, y, series.tone, ascii);
      joinColumns(canvas, { x, from: before, to: range, toY }, series);
    }
    before = range;
  }
}

interface Join {
  readonly x: number;
  readonly from: ColumnRange;
  readonly to: ColumnRange;
  readonly toY: (value: number) => number;
}

/** Fills the dots between the ranges of two neighbouring columns, so that a steep curve stays in one piece. */
function joinColumns(canvas: Canvas, { x, from, to, toY }: Join, series: ChartSeries): void {
  if (from === null || to === null || series.dashed) return;
  const ascii = '*';
  for (let y = toY(to.low); y < toY(from.high); y += 1) canvas.dot(x, y, series.tone, ascii);
  for (let y = toY(from.low) + 1; y <= toY(to.high); y += 1) canvas.dot(x, y, series.tone, ascii);
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
function axisLabel(value: number, { low, high }: Scale, format: (value: number) => string): string {
  if (Math.abs(value) < (high - low) / 500) return format(0);
  const text = format(value);
  return textWidth(text) <= GUTTER ? text : value.toExponential(0).replace('e+', 'e');
}

function labelFormat(chart: ChartSpec, axis: ChartSeries['axis']): (value: number) => string {
  return chart.series.find((series) => series.axis === axis)?.format ?? String;
}

function domainOf(chart: ChartSpec): [number, number] {
  return [chart.xs[0] ?? 0, chart.xs.at(-1) ?? 0];
}

function scaleOf(chart: ChartSpec, axis: ChartSeries['axis']): Scale {
  const bounds = axis === 'left' ? [chart.low, chart.high, chart.guide?.value] : [0];
  const values = chart.series.filter((series) => series.axis === axis).flatMap(({ ys }) => ys);
  const [low, high] = extent([...values, ...bounds.filter((bound) => bound !== undefined)]) ?? [0, 1];
  if (low < high) return { low, high };
  // A curve that is 0 all along lies at the bottom: what it measures need not have values below. Others lie in the middle.
  if (low === 0) return { low: 0, high: 1 };
  const room = Math.abs(low) / 2;
  return { low: low - room, high: high + room };
}

function shareOf(value: number, scale: Scale): number {
  return Math.min(1, Math.max(0, (value - scale.low) / (scale.high - scale.low)));
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
