/** The least and the greatest value that fall into one column; null where there is nothing to draw. */
export type ColumnRange = { readonly low: number; readonly high: number } | null;

/** A curve: `xs` ascending, `ys` of the same length; a NaN is a gap. */
export interface Points {
  readonly xs: readonly number[];
  readonly ys: readonly number[];
}

interface Place {
  readonly column: number;
  readonly y: number;
}

/** Where `x` lies among `columns` columns that span `domain`. */
export function columnOf(x: number, domain: readonly [number, number], columns: number): number {
  const [from, to] = domain;
  if (to <= from) return columns - 1;
  const column = Math.round(((x - from) / (to - from)) * (columns - 1));
  return Math.min(columns - 1, Math.max(0, column));
}

/**
 * Brings a curve to `columns` columns. Points that share a column become its minimum and maximum, so no spike is lost;
 * columns between two points are interpolated; a NaN leaves a gap.
 */
export function resample(points: Points, domain: readonly [number, number], columns: number): ColumnRange[] {
  const ranges: ColumnRange[] = Array.from({ length: columns }, () => null);
  let before: Place | null = null;
  for (const [index, x] of points.xs.entries()) {
    const y = points.ys[index] ?? Number.NaN;
    if (!Number.isFinite(y)) {
      before = null;
      continue;
    }
    const column = columnOf(x, domain, columns);
    if (before !== null) interpolate(ranges, before, { column, y });
    widen(ranges, column, y);
    before = { column, y };
  }
  return ranges;
}

/** The least and the greatest finite value, or null if there is none. */
export function extent(values: Iterable<number>): [number, number] | null {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : null;
}

function interpolate(ranges: ColumnRange[], from: Place, to: Place): void {
  for (let column = from.column + 1; column < to.column; column += 1) {
    const share = (column - from.column) / (to.column - from.column);
    widen(ranges, column, from.y + share * (to.y - from.y));
  }
}

function widen(ranges: ColumnRange[], column: number, y: number): void {
  const range = ranges[column];
  ranges[column] = range
    ? { low: Math.min(range.low, y), high: Math.max(range.high, y) }
    : { low: y, high: y };
}
