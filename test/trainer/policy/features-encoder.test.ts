import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  actionLayout,
  type FeaturesPolicySpec,
  observationTensors,
  policySpecSchema,
} from '../../../src/domain/policy-spec.ts';
import type { Observation } from '../../../src/domain/space.ts';
import { encodeSight } from '../../../trainer/policy/encode.ts';
import { createObservationArrays } from '../../../trainer/policy/observation-arrays.ts';

function specOf(given: Partial<FeaturesPolicySpec>): FeaturesPolicySpec {
  const spec = policySpecSchema.parse({ kind: 'features', features: 2, ...given });
  if (spec.kind !== 'features') throw new Error(spec.kind);
  return spec;
}

const CHOICE: Observation = {
  lines: ['task'],
  legal: ['input', 'submit'],
  candidates: [
    { type: 'input', text: 'left', kind: 'way' },
    { type: 'input', text: 'right', kind: 'way' },
  ],
  features: [1, 2],
};

/** Encodes into row 1 of three, all full of 9 before. */
function encodeMiddle(
  spec: FeaturesPolicySpec,
  history: readonly (readonly number[])[],
  observation = CHOICE,
) {
  const layout = actionLayout(spec);
  const arrays = createObservationArrays(spec, 3);
  for (const array of Object.values(arrays)) array.fill(9);
  encodeSight(spec, layout, { observation, history }, arrays, 1);
  return observationTensors(spec).map(({ name, width }) => {
    const all = [...(arrays[name] ?? [])];
    expect(all.slice(0, width)).toEqual(Array.from({ length: width }, () => 9));
    expect(all.slice(2 * width)).toEqual(Array.from({ length: width }, () => 9));
    return all.slice(width, 2 * width);
  });
}

describe('an observation of numbers', () => {
  test('is its numbers, when the policy looks at the newest alone', () => {
    const spec = specOf({ window: 1 });
    expect(
      encodeMiddle(spec, [
        [5, 6],
        [1, 2],
      ])[0],
    ).toEqual([1, 2]);
  });

  test('stands last in a window, after those before it, each with a 1 beside it; what was not is 0', () => {
    const spec = specOf({ window: 3 });
    expect(encodeMiddle(spec, [[1, 2]])[0]).toEqual([0, 0, 0, 0, 0, 0, 1, 2, 1]);
    const four = [
      [7, 8],
      [5, 6],
      [3, 4],
      [1, 2],
    ];
    expect(encodeMiddle(spec, four)[0]).toEqual([5, 6, 1, 3, 4, 1, 1, 2, 1]);
  });

  test('fills every element of its row and no other, whatever the window', () => {
    const numbers = fc.integer({ min: -8, max: 8 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.tuple(numbers, numbers), { minLength: 1, maxLength: 8 }),
        (window, history) => {
          const [features = []] = encodeMiddle(specOf({ window }), history);
          const shown = history.slice(-window);
          const flag = window > 1 ? [1] : [];
          const padding = Array.from({ length: (window - shown.length) * (2 + flag.length) }, () => 0);
          expect(features).toEqual([...padding, ...shown.flatMap((pair) => [...pair, ...flag])]);
        },
      ),
    );
  });

  test('has a mask of what is legal: one entry a candidate, and the types without argument', () => {
    const spec = specOf({ argumentSlots: { read: 1, select_tool: 0, input: 3 } });
    // read · input, input, input · confirm, submit, noop
    expect(encodeMiddle(spec, [[1, 2]])[1]).toEqual([0, 1, 1, 0, 0, 1, 0]);
    const shut = { ...CHOICE, legal: ['noop' as const] };
    expect(encodeMiddle(spec, [[1, 2]], shut)[1]).toEqual([0, 0, 0, 0, 0, 0, 1]);
  });
});

/** What an encoding throws, or null. */
function refusalOf(history: readonly (readonly number[])[]): unknown {
  try {
    encodeMiddle(specOf({}), history);
  } catch (thrown) {
    return thrown;
  }
  return null;
}

describe('an observation that does not fit the policy is refused', () => {
  test.each([
    ['no numbers', [[]], 'has 0 numeric features, and the policy reads 2'],
    ['too many numbers', [[1, 2, 3]], 'has 3 numeric features, and the policy reads 2'],
    ['an older one of another length', [[1], [1, 2]], 'has 1 numeric features'],
    ['NaN', [[1, Number.NaN]], 'numeric feature 1 of an observation is NaN, wanted a finite number'],
    ['infinity', [[Number.NEGATIVE_INFINITY, 0]], 'numeric feature 0 of an observation is -Infinity'],
  ])('%s', (_, history, message) => {
    expect(() => encodeMiddle(specOf({ window: 2 }), history)).toThrow(
      expect.objectContaining({ code: 'environment-invalid', message: expect.stringContaining(message) }),
    );
  });

  test('and the hint says what to set', () => {
    expect(refusalOf([[1, 2, 3]])).toMatchObject({ hint: 'set policy.features to 3 in the config' });
    expect(refusalOf([[]])).toMatchObject({ hint: expect.stringContaining('policy.kind text') });
  });

  test('more candidates than slots', () => {
    const spec = specOf({ argumentSlots: { read: 0, select_tool: 0, input: 1 } });
    expect(() => encodeMiddle(spec, [[1, 2]])).toThrow(
      'more candidates of type input than the 1 that the policy has slots for',
    );
  });
});
