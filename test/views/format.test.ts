import { describe, expect, it } from 'vitest';
import {
  formatCount,
  formatDuration,
  formatMs,
  formatNumber,
  formatRate,
  formatShare,
} from '../../views/format.ts';

describe('numbers on the screen', () => {
  it.each([
    [0, '0'],
    [0.012_345, '0.0123'],
    [0.0001, '1e-4'],
    [-12.345, '-12.3'],
    [2e6, '2e6'],
    [Number.NaN, '--'],
  ])('formatNumber(%s) is %s', (value, text) => expect(formatNumber(value)).toBe(text));

  it.each([
    [999, '999'],
    [999.6, '1k'],
    [52_149, '52.1k'],
    [1_234_567, '1.23M'],
    [Number.POSITIVE_INFINITY, '--'],
  ])('formatRate(%s) is %s', (value, text) => expect(formatRate(value)).toBe(text));

  it.each([
    [0, '0%'],
    [0.8754, '87.5%'],
    [1, '100%'],
    [null, '--'],
  ])('formatShare(%s) is %s', (value, text) => expect(formatShare(value)).toBe(text));

  it.each([
    [42.9, '42s'],
    [185, '3m05s'],
    [7620, '2h07m'],
    [273_600, '3d04h'],
    [-1, '0s'],
  ])('formatDuration(%s) is %s', (value, text) => expect(formatDuration(value)).toBe(text));

  it.each([
    [0.4249, '0.42 ms'],
    [0, '0 ms'],
    [31.4159, '31.4 ms'],
    [999.4, '999 ms'],
    [1000, '1.0 s'],
    [41_260, '41.3 s'],
    [61_000, '1m01s'],
    [Number.NaN, '--'],
  ])('formatMs(%s) is %s', (value, text) => expect(formatMs(value)).toBe(text));

  it('groups the digits of counts', () => expect(formatCount(1_234_567)).toBe('1,234,567'));
});
