import { expect, it } from 'vitest';
import { nearest } from '../../src/domain/nearest.ts';

it('finds the word meant, and none when nothing is like it', () => {
  const words = ['slots', 'slice', 'batchSteps', 'kl'];
  expect(nearest('slotz', words)).toBe('slots');
  expect(nearest('batch_steps', words)).toBe('batchSteps');
  expect(nearest('solts', words)).toBe('slots');
  expect(nearest('environment', words)).toBe(null);
  expect(nearest('xy', words)).toBe(null);
});
