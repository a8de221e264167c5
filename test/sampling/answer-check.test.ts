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
  for (const candidate of [...odd, ...right]) {
    const check = () => checkObservation(offering([observation.candidates[0], candidate]));
    if (candidateSchema.safeParse(candidate).success) expect(check).not.toThrow();
    else expect(check).toThrow(/as candidates\.1 of an observation/u);
  }
  expect(() => checkObservation(offering({}))).toThrow(/as candidates of an observation/u);
});

test('a step that brings a new set of candidates has it looked at', () => {
  const result = (next: Observation): StepResult => ({
    observation: next,
    components: {},
    terminated: false,
    success: false,
    failure: null,
    effective: true,
  });
  expect(() => checkStepResult(result({ ...observation, lines: [] }), observation)).not.toThrow();
  expect(() => checkStepResult(result(offering([{ type: 'input' }])), observation)).toThrow(/candidates\.0/u);
});
