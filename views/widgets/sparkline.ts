import { type Line, type Segment, seg } from '../line.ts';
import type { Look, Tone } from '../look.ts';

const LEVELS = { unicode: '▁▂▃▄▅▆▇█', ascii: '_.-=+*#@' } as const;

/** The ends of a scale. */
export interface SparkScale {
  readonly low: number;
  readonly high: number;
}

/** Least and greatest of the values that are numbers; 0 to 1 where there are none. */
function scaleOfValues(values: ArrayLike<number>): SparkScale {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? Number.NaN;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? { low, high } : { low: 0, high: 1 };
}

/** Values of a curve that is drawn again with every key. */
const MOST_VALUES = 4096;

/** A long curve as it is kept to be drawn. */
export interface ThinCurve {
  readonly values: ArrayLike<number>;
  readonly scale: SparkScale;
}

const thinCurves = new WeakMap<Float32Array, ThinCurve>();

/** At most MOST_VALUES values of a curve, the ones that a sparkline would show, and its scale; worked out once for an array. */
export function thinCurve(all: Float32Array): ThinCurve {
  const known = thinCurves.get(all);
  if (known !== undefined) return known;
  const scale = scaleOfValues(all);
  const every = Math.ceil(all.length / MOST_VALUES);
  const values =
    every <= 1
      ? all
      : Float32Array.from({ length: Math.ceil(all.length / every) }, (_, index) =>
          farthest(all, index * every, Math.min(all.length, (index + 1) * every), scale),
        );
  const thin = { values, scale };
  thinCurves.set(all, thin);
  return thin;
}

/** Of some values the one farthest from the middle of the scale. */
function farthest(values: ArrayLike<number>, from: number, to: number, { low, high }: SparkScale): number {
  const middle = (low + high) / 2;
  let shown = Number.NaN;
  for (let index = from; index < to; index += 1) {
    const value = values[index] ?? Number.NaN;
    if (Number.isNaN(shown) || Math.abs(value - middle) > Math.abs(shown - middle)) shown = value;
  }
  return shown;
}

/**
 * A curve in one row of at most `width` columns. Of the values that share a column the one farthest from the middle of the scale is
 * shown, so that no spike is lost. The column of the value at `cursor` has another tone, and is inverse.
 */
export function sparkline(
  values: ArrayLike<number>,
  scale: SparkScale,
  { width, tone, cursor }: { readonly width: number; readonly tone: Tone; readonly cursor?: number },
  look: Look,
): Line {
  const columns = Math.min(width, values.length);
  const levels = look.glyphs === 'ascii' ? LEVELS.ascii : LEVELS.unicode;
  const marked = cursor === undefined ? -1 : Math.floor((cursor * columns) / Math.max(1, values.length));
  const line: Segment[] = [];
  let text = '';
  for (let column = 0; column < columns; column += 1) {
    const from = Math.floor((column * values.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * values.length) / columns));
    const cell = cellOf(farthest(values, from, to, scale), scale, levels);
    if (column !== marked) text += cell;
    else {
      line.push(seg(text, tone), seg(cell === ' ' ? '_' : cell, 'selected'));
      text = '';
    }
  }
  return [...line, seg(text, tone)].filter((segment) => segment.text !== '');
}

function cellOf(value: number, { low, high }: SparkScale, levels: string): string {
  if (!Number.isFinite(value)) return ' ';
  const share = high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0;
  return levels.charAt(Math.round(share * (levels.length - 1)));
}
