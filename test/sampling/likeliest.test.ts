import fc from 'fast-check';
import { expect, test } from 'vitest';
import { actionLayout, policySpecSchema } from '../../src/domain/policy-spec.ts';
import { ACTION_TYPES, type Observation } from '../../src/domain/space.ts';
import { Likeliest } from '../../src/sampling/likeliest.ts';
import { ActionChoice } from '../../trainer/policy/sample-action.ts';
import { flatAction } from '../../trainer/policy/tokenizer.ts';

const layout = actionLayout(policySpecSchema.parse({ argumentSlots: { read: 2, select_tool: 3, input: 2 } }));
const observation: Observation = {
  lines: ['task'],
  legal: [...ACTION_TYPES],
  // Not by type: the place in the set is not the place in the list of actions.
  candidates: [
    { type: 'input', text: 'one', kind: 'value' },
    { type: 'read', text: 'notes', kind: 'file' },
    { type: 'select_tool', text: 'copy', kind: 'tool' },
    { type: 'input', text: 'two', kind: 'value' },
    { type: 'select_tool', text: 'move', kind: 'tool' },
  ],
};
const OFFERED = [0, 2, 3, 5, 6, ...Object.values(layout.bare)];
const mask = Float32Array.from({ length: layout.size }, (_, index) => Number(OFFERED.includes(index)));

function legal(logProbabilities: Float32Array): ActionChoice {
  const choice = new ActionChoice(layout.size);
  choice.read({ logProbabilities, mask, at: 0 });
  return choice;
}

/** What the record means by `which`. */
function named(which: number): unknown {
  if (which < 0) return { type: ACTION_TYPES[-1 - which], argument: null };
  const candidate = observation.candidates[which];
  return { type: candidate?.type, argument: candidate?.text };
}

test('the likeliest legal actions are found, in order, and named by their place in the set', () => {
  const values = fc.array(fc.double({ min: -20, max: 0, noNaN: true }), {
    minLength: layout.size,
    maxLength: layout.size,
  });
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 10 }), (numbers, most) => {
      const logProbabilities = Float32Array.from(numbers);
      const flat = new Likeliest(most, layout).find(0.5, legal(logProbabilities), observation) ?? [];
      const expected = OFFERED.toSorted(
        (a, b) => (logProbabilities[b] ?? 0) - (logProbabilities[a] ?? 0) || a - b,
      ).slice(0, most);
      expect(flat.filter((_, i) => i % 2 === 0).map((which) => named(which))).toEqual(
        expected.map((index) => flatAction(layout, observation, index)),
      );
      expect(flat.filter((_, i) => i % 2 === 1)).toEqual(
        expected.map((index) => Math.exp(logProbabilities[index] ?? 0)),
      );
    }),
  );
});

test('none where none are wanted, or the action taken was all but certain', () => {
  const even = new Float32Array(layout.size).fill(-1);
  expect(new Likeliest(0, layout).find(0.5, legal(even), observation)).toBeUndefined();
  expect(new Likeliest(3, layout).find(0.9991, legal(even), observation)).toBeUndefined();
});
