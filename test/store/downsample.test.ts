import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Bucket, MetricPyramid } from '../../src/store/downsample.ts';
import { resample } from '../../views/widgets/resample.ts';

interface Points {
  readonly xs: readonly number[];
  readonly ys: readonly number[];
}

/** Ascending positions with repetitions and holes; values with gaps. Long enough for three levels. */
const curves: fc.Arbitrary<Points> = fc
  .array(
    fc.record({
      step: fc.constantFrom(0, 1, 1, 1, 2, 40),
      y: fc.oneof(
        { weight: 9, arbitrary: fc.integer({ min: -1000, max: 1000 }) },
        { weight: 1, arbitrary: fc.constant(Number.NaN) },
      ),
    }),
    { minLength: 1, maxLength: 900, size: 'max' },
  )
  .map((steps) => {
    let x = 0;
    return { xs: steps.map(({ step }) => (x += step)), ys: steps.map(({ y }) => y) };
  });

function pyramidOf({ xs, ys }: Points): MetricPyramid {
  const pyramid = new MetricPyramid();
  for (const [index, x] of xs.entries()) pyramid.push(x, ys[index] ?? Number.NaN);
  return pyramid;
}

/** The plain computation. */
function plainBucket({ xs, ys }: Points, inside: (x: number) => boolean): Bucket {
  const values = ys.filter((y, index) => inside(xs[index] ?? Number.NaN) && Number.isFinite(y));
  if (values.length === 0) return { min: Number.NaN, max: Number.NaN, mean: Number.NaN, count: 0 };
  return {
    min: Math.min(...values),
    max: Math.max(...values),
    mean: values.reduce((sum, y) => sum + y, 0) / values.length,
    count: values.length,
  };
}

describe('MetricPyramid', () => {
  it('a bucket of any range is what the plain computation gives', () => {
    fc.assert(
      fc.property(curves, fc.nat(1200), fc.nat(1200), (points, from, length) => {
        const bucket = pyramidOf(points).bucket(from, from + length);
        // Whole numbers: sums are exact in whatever order.
        expect(bucket).toEqual(plainBucket(points, (x) => x >= from && x < from + length));
      }),
    );
  });

  it('buckets side by side hold every point once', () => {
    fc.assert(
      fc.property(curves, fc.integer({ min: 1, max: 50 }), (points, count) => {
        const pyramid = pyramidOf(points);
        const [from, to] = pyramid.span ?? [0, 0];
        const buckets = pyramid.buckets(from, to, count);
        const all = plainBucket(points, () => true);
        expect(buckets.reduce((sum, bucket) => sum + bucket.count, 0)).toBe(all.count);
        const filled = buckets.filter((bucket) => bucket.count > 0);
        if (all.count === 0) return;
        expect(Math.min(...filled.map(({ min }) => min))).toBe(all.min);
        expect(Math.max(...filled.map(({ max }) => max))).toBe(all.max);
      }),
    );
  });

  it('a thinned curve is drawn as the whole one, column by column', () => {
    fc.assert(
      fc.property(curves, fc.integer({ min: 2, max: 60 }), (points, columns) => {
        const pyramid = pyramidOf(points);
        const domain = pyramid.span ?? [0, 0];
        const thinned = pyramid.thinned(...domain, columns);
        expect(thinned.xs.length).toBeLessThanOrEqual(4 * columns);
        // Between two points a column is interpolated from their places, of which the thinned curve knows the column only.
        const [seen, whole] = [thinned, points].map((curve) =>
          resample(curve, domain, columns).map((drawn, column) => {
            const exact = points.xs.some(
              (x, index) => Number.isFinite(points.ys[index]) && columnIs(x, domain, columns, column),
            );
            return exact ? drawn : drawn !== null;
          }),
        );
        expect(seen).toEqual(whole);
      }),
    );
  });

  it('a part of the curve is thinned by itself: zooming in shows single points', () => {
    const pyramid = pyramidOf({ xs: range(5000), ys: range(5000).map((x) => (x === 2510 ? 99 : x % 7)) });
    expect(pyramid.thinned(0, 4999, 80).ys.filter((y) => y === 99)).toHaveLength(1);
    expect(pyramid.thinned(2509, 2511, 80)).toEqual({ xs: [2509, 2510, 2511], ys: [3, 99, 5] });
  });

  it('grows: what was asked before does not stand in the way', () => {
    const pyramid = new MetricPyramid();
    const wrong = range(20_000).filter((x) => {
      pyramid.push(x, x);
      const { min, max, mean, count } = pyramid.bucket(0, x + 1);
      return min !== 0 || max !== x || mean !== x / 2 || count !== x + 1;
    });
    expect(wrong).toEqual([]);
  });

  it('refuses a step back', () => {
    const pyramid = pyramidOf({ xs: [3], ys: [1] });
    expect(() => pyramid.push(2, 1)).toThrow(RangeError);
    expect(() => pyramid.push(Number.NaN, 1)).toThrow(RangeError);
  });
});

function range(length: number): number[] {
  return Array.from({ length }, (_, index) => index);
}

function columnIs(
  x: number,
  [from, to]: readonly [number, number],
  columns: number,
  column: number,
): boolean {
  return (to <= from ? columns - 1 : Math.round(((x - from) / (to - from)) * (columns - 1))) === column;
}
