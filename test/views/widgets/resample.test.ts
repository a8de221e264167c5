import { describe, expect, it } from 'vitest';
import { columnOf, extent, resample } from '../../../views/widgets/resample.ts';

function flat(y: number): { low: number; high: number } {
  return { low: y, high: y };
}

describe('resample', () => {
  it('joins points that share a column to their least and greatest value', () => {
    const points = { xs: [0, 1, 2, 3], ys: [5, 1, 9, 2] };
    expect(resample(points, [0, 3], 2)).toEqual([
      { low: 1, high: 5 },
      { low: 2, high: 9 },
    ]);
  });

  it('interpolates columns between points and leaves a gap at NaN', () => {
    expect(resample({ xs: [0, 4], ys: [0, 8] }, [0, 4], 5)).toEqual([0, 2, 4, 6, 8].map(flat));
    expect(resample({ xs: [0, 2, 4], ys: [0, Number.NaN, 8] }, [0, 4], 5)).toEqual([
      flat(0),
      null,
      null,
      null,
      flat(8),
    ]);
  });
});

describe('columnOf', () => {
  it('keeps positions outside the domain at its edges, and a single point at the right', () => {
    expect(columnOf(-5, [0, 10], 11)).toBe(0);
    expect(columnOf(50, [0, 10], 11)).toBe(10);
    expect(columnOf(3, [3, 3], 11)).toBe(10);
  });
});

describe('extent', () => {
  it('ignores what is not finite', () => {
    expect(extent([Number.NaN, 3, Number.POSITIVE_INFINITY, -1])).toEqual([-1, 3]);
    expect(extent([Number.NaN])).toBeNull();
  });
});
