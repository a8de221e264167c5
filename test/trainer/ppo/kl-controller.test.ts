import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KNOBS } from '../../../src/domain/knob.ts';
import { nextKlCoefficient } from '../../../trainer/ppo/kl-controller.ts';

test('the coefficient grows when the KL is far above the target and shrinks when it is far below', () => {
  expect(nextKlCoefficient(0.1, 0.04, 0.02)).toBeCloseTo(0.15);
  expect(nextKlCoefficient(0.15, 0.01, 0.02)).toBeCloseTo(0.1);
  expect(nextKlCoefficient(0.1, 0.025, 0.02)).toBe(0.1);
});

test('a target of 0 and a KL that is no number leave it', () => {
  expect(nextKlCoefficient(0.1, 5, 0)).toBe(0.1);
  expect(nextKlCoefficient(0.1, Number.NaN, 0.02)).toBe(0.1);
});

test('it stays above 0 and within the range, and moves by a factor in [0.5, 2], whatever the KLs', () => {
  const { minimum, maximum } = KNOBS.kl;
  const kl = fc.oneof(fc.double({ min: 0, max: 1e9, noNaN: true }), fc.constantFrom(0, Infinity, Number.NaN));
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
