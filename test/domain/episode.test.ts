import { expect, it } from 'vitest';
import { type EpisodeBody, shortObservations } from '../../src/domain/episode.ts';

const STEP: EpisodeBody['steps'][number] = {
  observation: [0, 1],
  candidates: 0,
  action: { type: 'noop', argument: null },
  probability: 1,
  value: 0,
  entropy: 0,
  policyVersion: 0,
  effective: true,
  reward: 0,
  parts: [],
};

it('the first and the last observation in short', () => {
  const body: EpisodeBody = {
    lines: ['task wait', 'screen empty', 'x'.repeat(600)],
    candidateSets: [[]],
    steps: [STEP, { ...STEP, observation: [0, 2] }],
    finalObservation: [0, 2],
  };
  const { first, last } = shortObservations(body);
  expect(first).toBe('task wait\nscreen empty');
  expect(last).toHaveLength(500);
  expect(last.startsWith('task wait\nxxx')).toBe(true);
  // Void before its first step.
  expect(shortObservations({ ...body, steps: [], finalObservation: [] })).toEqual({ first: '', last: '' });
  expect(shortObservations({ ...body, steps: [] })).toMatchObject({ first: last, last });
});
