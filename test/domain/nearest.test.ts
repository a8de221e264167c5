import { expect, it } from 'vitest';
import { nearest, nearestNames } from '../../src/domain/nearest.ts';

it('finds the word meant, and none when nothing is like it', () => {
  const words = ['slots', 'slice', 'batchSteps', 'kl'];
  expect(nearest('slotz', words)).toBe('slots');
  expect(nearest('batch_steps', words)).toBe('batchSteps');
  expect(nearest('solts', words)).toBe('slots');
  expect(nearest('environment', words)).toBe(null);
  expect(nearest('xy', words)).toBe(null);
});

it('gives several, best first, and those that the word begins', () => {
  expect(nearestNames('step', ['steps', 'stop', 'episode'])).toEqual(['steps', 'stop']);
  expect(nearestNames('demo', ['demo-20261130-1', 'other'])).toEqual(['demo-20261130-1']);
  expect(nearestNames('', ['a', 'b'])).toEqual([]);
});
