import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Histogram, histogramDataSchema } from '../../src/domain/histogram.ts';

const times = fc.array(fc.double({ min: 1e-4, max: 1e7, noNaN: true }), { minLength: 1, maxLength: 200 });

function histogramOf(values: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const value of values) histogram.add(value);
  return histogram;
}

it('gives every quantile to within half a bucket, and the longest exactly', () => {
  fc.assert(
    fc.property(times, fc.double({ min: 0, max: 1, noNaN: true }), (values, q) => {
      const histogram = histogramOf(values);
      const sorted = values.toSorted((a, b) => a - b);
      const exact = sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)]!;
      expect(Math.abs(Math.log2(histogram.quantile(q)! / exact))).toBeLessThanOrEqual(1 / 16 + 1e-9);
      expect(histogram.max).toBe(sorted.at(-1));
      expect(histogram.count).toBe(values.length);
    }),
  );
});

it('is the same whether counted in one or merged from parts that went through messages', () => {
  fc.assert(
    fc.property(times, times, (left, right) => {
      const merged = new Histogram();
      for (const part of [left, right]) {
        merged.merge(histogramDataSchema.parse(JSON.parse(JSON.stringify(histogramOf(part).take()))));
      }
      const whole = histogramOf([...left, ...right]);
      for (const q of [0, 0.5, 0.95, 1]) expect(merged.quantile(q)).toBe(whole.quantile(q));
      expect(merged.sum).toBeCloseTo(whole.sum, 3);
      expect(merged.take().buckets).toEqual(whole.take().buckets);
    }),
  );
});

it('has nothing to say of nothing, and begins again at nothing once it was taken', () => {
  const histogram = histogramOf([3]);
  histogram.take();
  expect([histogram.count, histogram.sum, histogram.max, histogram.quantile(0.5)]).toEqual([0, 0, 0, null]);
  histogram.add(0);
  expect(histogram.quantile(1)).toBe(0);
});
