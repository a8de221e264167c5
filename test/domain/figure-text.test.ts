import { expect, it } from 'vitest';
import { duration, mebibytes, percent, seconds } from '../../src/domain/figure-text.ts';

it('a duration is told in ms, whole seconds or minutes', () => {
  const told = [0, 640, 1000, 41_400, 119_400, 120_000, 150_000].map(duration);
  expect(told).toEqual(['0 ms', '640 ms', '1 s', '41 s', '119 s', '2.0 min', '2.5 min']);
});

it('seconds, shares and mebibytes have one decimal', () => {
  expect([seconds(5240), percent(0.9349), mebibytes(3 * 2 ** 20)]).toEqual(['5.2 s', '93.5 %', '3.0 MiB']);
});
