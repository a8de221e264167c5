import { expect, it } from 'vitest';
import {
  formatCount,
  formatDuration,
  formatNumber,
  formatRate,
  formatShort,
  formatTable,
} from '../../src/cli/format.ts';

it('lengths of time have hours only when there are any', () => {
  expect([0, 5, 65, 599.6, 3723].map(formatDuration)).toEqual(['0:00', '0:05', '1:05', '10:00', '1:02:03']);
});

it('numbers are short, and what is not there is a dash', () => {
  expect([950, 12_345, 999_600, 4_560_000].map(formatShort)).toEqual(['950', '12.3k', '1.00M', '4.56M']);
  expect(formatCount(1_234_567.4)).toBe('1,234,567');
  expect([formatRate(0.935), formatRate(null)]).toEqual(['93.5 %', '–']);
  expect([formatNumber(0.012345), formatNumber(-1.5), formatNumber(null)]).toEqual(['0.0123', '-1.5', '–']);
});

it('a table has its columns below each other', () => {
  const columns = [
    { title: 'NAME', align: 'left', cell: (row: [string, number]) => row[0] },
    { title: 'N', align: 'right', cell: (row: [string, number]) => String(row[1]) },
  ] as const;
  expect(
    formatTable(columns, [
      ['a', 1],
      ['longer', 100],
    ]),
  ).toEqual(['NAME      N', 'a         1', 'longer  100']);
});
