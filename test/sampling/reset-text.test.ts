import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Observation } from '../../src/domain/space.ts';
import { stableJson } from '../../src/domain/stable-json.ts';
import { firstDifference, resetText } from '../../src/sampling/reset-text.ts';

/** The same value with the keys of its objects in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, part]) => [key, reversed(part)]),
  );
}

const observation: Observation = {
  lines: ['task one', 'screen'],
  legal: ['read', 'noop'],
  candidates: [{ type: 'read', text: 'notes.txt', kind: 'file' }],
  features: [1, 2],
};

const { features: _features, ...withoutFeatures } = observation;

describe('stable JSON', () => {
  it('says the same of a value whatever the order of its keys, and loses nothing', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = stableJson(value);
        expect(stableJson(reversed(value))).toBe(text);
        // JSON has no negative zero.
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(
          stableJson(value, 1)
            .split('\n')
            .map((line) => line.trimStart()),
        ).toHaveLength(JSON.stringify(value, null, 1).split('\n').length);
      }),
    );
  });

  it('of nothing is null; of what refers to itself there is none', () => {
    expect(stableJson(undefined)).toBe('null');
    const loop: { self?: unknown } = {};
    loop.self = loop;
    expect(() => stableJson(loop)).toThrow(/circular/u);
  });
});

describe('the texts of two resets', () => {
  it('are the same for the same observation and state, and differ in the line that was changed', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (state, other) => {
        const one = resetText(observation, state);
        expect(firstDifference(one, resetText({ ...observation }, reversed(state)))).toBeNull();
        const difference = firstDifference(one, resetText(observation, other));
        expect(difference === null).toBe(stableJson(state) === stableJson(other));
        if (difference === null) return;
        expect(difference.part).toBe('state');
        const at = difference.line - 1;
        const lines = [state, other].map((value) => stableJson(value, 1).split('\n'));
        expect(lines[0]!.slice(0, at)).toEqual(lines[1]!.slice(0, at));
        expect(lines[0]![at]).not.toBe(lines[1]![at]);
      }),
    );
  });

  it.each([
    ['a line', { ...observation, lines: ['task one', 'screen '] }, 2, '"screen "'],
    ['a line more', { ...observation, lines: ['task one', 'screen', 'left'] }, 3, '"left"'],
    ['the legal actions', { ...observation, legal: ['noop', 'read'] }, 3, 'legal ["noop","read"]'],
    ['a candidate', { ...observation, candidates: [] }, 4, 'features [1,2]'],
    ['a feature', { ...observation, features: [1, 2.5] }, 5, 'features [1,2.5]'],
    ['no features', withoutFeatures, 5, null],
  ] satisfies [string, Observation, number, string | null][])(
    'differ in %s',
    (_what, change, line, shown) => {
      const other = resetText(change, 1);
      expect(firstDifference(resetText(observation, 1), other)).toMatchObject({
        part: 'observation',
        line,
        fresh: { line: shown },
      });
    },
  );

  it('are told in part: lines around the difference, each cut', () => {
    const lines = Array.from({ length: 40 }, (_, n) => `line ${n} ${'x'.repeat(1000)}`);
    const one = resetText({ ...observation, lines }, null);
    const other = resetText({ ...observation, lines: lines.with(20, 'other') }, null);
    const difference = firstDifference(one, other);
    expect(difference!.line).toBe(21);
    expect(difference!.fresh.text.split('\n').slice(0, 3)).toEqual([
      '…',
      expect.stringMatching(/^"line 19 x+…$/u),
      '"other"',
    ]);
    expect(difference!.recycled.text.length).toBeLessThan(1100);
    expect(difference!.recycled.text.endsWith('\n…')).toBe(true);
  });
});
