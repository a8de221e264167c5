import { expect, it } from 'vitest';
import { createRandom } from '../../src/domain/random.ts';
import { tellingRows } from '../../src/store/telling-rows.ts';

const FIGURES = ['kl', 'reward'] as const;

it('keeps of each stretch the extremes of each figure, and its last row, in order', () => {
  const random = createRandom(3);
  const rows = Array.from({ length: 1050 }, (_, index) => {
    const reward = index % 7 === 0 ? null : random.next();
    return { iteration: index + 1, kl: random.next(), reward };
  });
  const stored = rows.map((row) => ({ iteration: row.iteration, attempt: 1, metrics: JSON.stringify(row) }));
  const told = tellingRows(stored, FIGURES, 100);
  const numbers = told.map((row) => Number(row['iteration']));
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(numbers.length).toBeLessThanOrEqual(11 * 5);
  for (let first = 0; first < rows.length; first += 100) {
    const all = rows.slice(first, first + 100);
    const kept = told.filter(
      ({ iteration }) => Number(iteration) > first && Number(iteration) <= first + 100,
    );
    expect(kept.at(-1)).toEqual(all.at(-1));
    for (const figure of FIGURES) {
      const of = (some: readonly object[]): number[] =>
        some.flatMap((row) => {
          const value: unknown = Reflect.get(row, figure);
          return typeof value === 'number' ? [value] : [];
        });
      expect([Math.min(...of(kept)), Math.max(...of(kept))]).toEqual([
        Math.min(...of(all)),
        Math.max(...of(all)),
      ]);
    }
  }
});
