import { expect, it } from 'vitest';
import { formatBytes, formatForecast } from '../../src/domain/bytes.ts';

it.each([
  [0, '0 B'],
  [980, '980 B'],
  [999, '999 B'],
  [1000, '0.977 KiB'],
  [999.4 * 2 ** 10, '999 KiB'],
  [999.7 * 2 ** 10, '0.976 MiB'],
  [2 ** 20, '1.00 MiB'],
  [2 ** 20 * 381.2, '381 MiB'],
  [1.4 * 2 ** 30, '1.40 GiB'],
  [2000 * 2 ** 30, '1.95 TiB'],
  [5000 * 2 ** 40, '5000 TiB'],
  [Number.NaN, '--'],
])('%s bytes are written as %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

it('forecasts are written with the digits that matter', () => {
  expect([2700, 32_400, 950_400].map(formatForecast)).toEqual([
    'full in 45 min',
    'full in 9 h',
    'full in 11 days',
  ]);
});
