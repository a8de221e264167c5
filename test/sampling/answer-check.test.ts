import { expect, test } from 'vitest';
import type { StepResult } from '../../envs/contract.ts';
import { candidateSchema, type Observation } from '../../src/domain/space.ts';
import { checkObservation, checkStepResult } from '../../src/sampling/answer-check.ts';

const observation: Observation = {
  lines: ['task'],
  legal: ['input', 'submit'],
  candidates: [{ type: 'input', text: 'x', kind: 'name' }],
};

/** An observation whose candidates are these, whatever they are. */
function offering(candidates: unknown): Observation {
  return { ...observation, ...JSON.parse(JSON.stringify({ candidates })) };
}

/** Of a step that showed this. */
function result(next: Observation): StepResult {
  return {
    observation: next,
    components: {},
    terminated: false,
    success: false,
    failure: null,
    effective: true,
  };
}

test('candidates are right or wrong as their schema says, each of them', () => {
  const odd = [
    null,
    'x',
    {},
    { type: 'submit', text: 'x', kind: 'y' },
    { type: 'input', text: 1, kind: 'y' },
  ];
  const right = [
    { type: 'read', text: '', kind: '' },
    { type: 'input', text: 'x', kind: 'name', more: 1 },
  ];
  expect(right.every((candidate) => candidateSchema.safeParse(candidate).success)).toBe(true);
  expect(odd.some((candidate) => candidateSchema.safeParse(candidate).success)).toBe(false);
  expect(() => checkObservation(offering(right))).not.toThrow();
  for (const candidate of odd) {
    const among = offering([observation.candidates[0], candidate]);
    expect(() => checkObservation(among)).toThrow(/as candidates\.1 of an observation/u);
  }
  expect(() => checkObservation(offering({}))).toThrow(/as candidates of an observation/u);
});

test('a step that brings a new set of candidates has it looked at', () => {
  expect(() => checkStepResult(result({ ...observation, lines: [] }), observation)).not.toThrow();
  expect(() => checkStepResult(result(offering([{ type: 'input' }])), observation)).toThrow(/candidates\.0/u);
});
