import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  actionLayout,
  CANDIDATE_TOKENS,
  policySpecSchema,
  type TextPolicySpec,
} from '../../../src/domain/policy-spec.ts';
import type { Observation } from '../../../src/domain/space.ts';
import { encodeSight } from '../../../trainer/policy/encode.ts';
import { LineTable } from '../../../trainer/policy/line-table.ts';
import { createEncodingMemory } from '../../../trainer/policy/observation-encoder.ts';

/** Lines, and one candidate to look for in them. */
function observe(...lines: string[]): Observation {
  return { lines, legal: ['input'], candidates: [{ type: 'input', text: 'x', kind: 'name' }] };
}

describe('a line table', () => {
  test('gives back what each line was read into, however many there are', () => {
    const line = fc.record({
      tokens: fc.array(fc.nat(65_535), { minLength: 3, maxLength: 3 }),
      names: fc.array(fc.nat(), { maxLength: 9 }),
    });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 700 }), (lines) => {
        const table = new LineTable(3);
        const numbers = lines.map((each, i) => table.add(`line ${i}`, each));
        expect(numbers).toEqual(lines.map((_, i) => i));
        for (const [i, { tokens, names }] of lines.entries()) {
          expect(table.find(`line ${i}`)).toBe(i);
          expect([...table.tokens.subarray(3 * i, 3 * i + 3)]).toEqual(tokens);
          expect([...table.names.subarray(table.nameStarts[i], table.nameStarts[i + 1])]).toEqual(names);
        }
      }),
      { numRuns: 20 },
    );
  });

  test('forgets all, and numbers anew', () => {
    const table = new LineTable(1);
    table.add('a', { tokens: [1], names: [1, 2, 3] });
    table.add('b', { tokens: [2], names: [] });
    table.clear();
    expect([table.size, table.find('a'), table.find('b')]).toEqual([0, undefined, undefined]);
    expect(table.add('b', { tokens: [7], names: [4, 5, 6] })).toBe(0);
    expect([table.tokens[0], ...table.names.subarray(0, table.nameStarts[1])]).toEqual([7, 4, 5, 6]);
  });
});

describe('an encoding memory', () => {
  const parsed = policySpecSchema.parse({ sentences: 4, taskSentences: 1, tokens: 4, vocabulary: 512 });
  if (parsed.kind !== 'text') throw new Error('the default is text');
  const spec: TextPolicySpec = parsed;
  const layout = actionLayout(spec);
  const encode = (observation: Observation, memory = createEncodingMemory()) => {
    const out = {
      tokens: new Int32Array(spec.sentences * spec.tokens),
      candidates: new Int32Array(layout.slots * CANDIDATE_TOKENS),
      mask: new Float32Array(layout.size),
    };
    encodeSight(spec, layout, { observation, history: [], memory }, out, 0);
    return out;
  };
  test('changes nothing in what is written', () => {
    const line = fc.constantFrom('a x', 'b', 'x y', 'task x', '');
    fc.assert(
      fc.property(fc.array(fc.array(line, { maxLength: 7 }), { maxLength: 10 }), (observations) => {
        const memory = createEncodingMemory();
        for (const lines of observations)
          expect(encode(observe(...lines), memory)).toEqual(encode(observe(...lines)));
      }),
    );
  });

  test('does not outlive the numbers of its lines', () => {
    const memory = createEncodingMemory();
    const before = encode(observe('task x', 'old a x'), memory);
    // Enough other lines for the encoder to start again.
    for (let n = 0; n <= 66_000; n++) encode(observe('task', `line ${n}`));
    expect(encode(observe('task x', 'old a x'), memory)).toEqual(before);
  });
});
