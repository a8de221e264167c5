import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findPhrase, hashText, isName, splitLine } from '../../../trainer/policy/words.ts';

const names = (line: string): string[] => splitLine(line).names.map(({ text }) => text);

describe('splitLine', () => {
  test('cuts words at everything that is no letter or digit, and keeps names whole', () => {
    const { words } = splitLine('move harbor-7.txt, then stop.');
    expect(words).toEqual(['move', 'harbor', '7', 'txt', 'then', 'stop'].map(hashText));
    expect(names('move harbor-7.txt, then stop.')).toEqual(['move', 'harbor-7.txt', 'then', 'stop']);
  });

  test('says how many words stand before a name', () => {
    expect(splitLine('a b-c d').names.map(({ wordsBefore }) => wordsBefore)).toEqual([0, 1, 3]);
  });

  test('a connector joins only between two letters or digits', () => {
    expect(names("'a-b' --x-- c_ .d")).toEqual(['a-b', 'x', 'c', 'd']);
  });

  test('letters outside ASCII are letters', () => {
    expect(names('über café')).toEqual(['über', 'café']);
  });

  test('every name is what the line holds between its start and end', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from('ab1 -_.,\u00e9@:')) }), (line) => {
        const split = splitLine(line);
        for (const { text, start, end, wordsBefore } of split.names) {
          expect(line.slice(start, end)).toBe(text);
          expect(splitLine(line.slice(0, start)).words).toEqual(split.words.slice(0, wordsBefore));
          expect(isName(text)).toBe(true);
        }
      }),
    );
  });
});

describe('findPhrase', () => {
  test('finds texts of several words, whole ones only', () => {
    expect(findPhrase('open new york map', 'new york', 'first')).toBe(1);
    expect(findPhrase('open new yorkshire map', 'new york', 'first')).toBe(-1);
    expect(findPhrase('renew york', 'new york', 'first')).toBe(-1);
  });

  test('tells the first occurrence from the last', () => {
    expect(findPhrase('x a/b y z a/b', 'a/b', 'first')).toBe(1);
    expect(findPhrase('x a/b y z a/b', 'a/b', 'last')).toBe(5);
  });

  test('an empty text occurs nowhere', () => {
    expect(findPhrase('a b', '', 'first')).toBe(-1);
  });
});
