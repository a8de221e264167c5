import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KNOBS } from '../../../src/domain/knob.ts';
import { klOf, nextKlCoefficient } from '../../../trainer/ppo/kl-controller.ts';

test('the coefficient grows when the KL is far above the target and shrinks when it is far below', () => {
  expect(nextKlCoefficient(0.1, 0.04, 0.02)).toBeCloseTo(0.15);
  expect(nextKlCoefficient(0.15, 0.01, 0.02)).toBeCloseTo(0.1);
  expect(nextKlCoefficient(0.1, 0.025, 0.02)).toBe(0.1);
});

test('the KL that counts is that of the estimator chosen', () => {
  const metrics = { kl: 1, klK1: -2, klK3: 3 };
  expect((['exact', 'k1', 'k3'] as const).map((estimator) => klOf(metrics, estimator))).toEqual([1, -2, 3]);
});

test('an estimate below 0 is far below the target', () => {
  expect(nextKlCoefficient(0.15, -0.5, 0.02)).toBeCloseTo(0.1);
});

test('a target of 0 and a KL that is no number leave it', () => {
  expect(nextKlCoefficient(0.1, 5, 0)).toBe(0.1);
  expect(nextKlCoefficient(0.1, Number.NaN, 0.02)).toBe(0.1);
});

test('it does not depend on the size of the batch, where the formula that does turns negative', () => {
  const [kl, target, samples, horizon] = [0.001, 0.02, 210_000, 10_000];
  const usual = 1 + (Math.max(-0.2, Math.min(0.2, kl / target - 1)) * samples) / horizon;
  expect(usual).toBeCloseTo(-3.2);
  expect(nextKlCoefficient(0.3, kl, target)).toBeCloseTo(0.2);
});

test('it stays above 0 and within the range, and moves by a factor in [0.5, 2], whatever the KLs', () => {
  const { minimum, maximum } = KNOBS.kl;
  const kl = fc.oneof(
    fc.double({ min: -1e9, max: 1e9, noNaN: true }),
    fc.constantFrom(0, Infinity, -Infinity, Number.NaN),
  );
  fc.assert(
    fc.property(
      fc.double({ min: minimum, max: maximum, noNaN: true }),
      fc.array(kl, { maxLength: 50 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (start, kls, target) => {
        let coefficient = start;
        for (const each of kls) {
          const next = nextKlCoefficient(coefficient, each, target);
          expect(next).toBeGreaterThan(0);
          expect(next).toBeGreaterThanOrEqual(minimum);
          expect(next).toBeLessThanOrEqual(maximum);
          expect(next / coefficient).toBeGreaterThanOrEqual(0.5);
          expect(next / coefficient).toBeLessThanOrEqual(2);
          coefficient = next;
        }
      },
    ),
  );
});
