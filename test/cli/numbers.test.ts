import { expect, it } from 'vitest';
import { parseCount, parsePositive } from '../../src/cli/numbers.ts';

it('takes whole numbers as they are written, and no other text for one', () => {
  expect(['0', '20', '007'].map(parseCount)).toEqual([0, 20, 7]);
  expect(parsePositive('20')).toBe(20);
  for (const text of ['', '-1', '1.5', '1e3', ' 1', '0x10', '9'.repeat(16)]) {
    expect(() => parseCount(text)).toThrow('Wanted a whole number.');
    expect(() => parsePositive(text)).toThrow('Wanted a whole number.');
  }
  expect(() => parsePositive('0')).toThrow('Wanted 1 or more.');
});
