import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineHas, phraseOf, wordsOf } from '../../src/store/text-words.ts';

describe('words', () => {
  it.each<[string, readonly string[]]>([
    ['read notes/a.txt says "No such file"', ['read', 'notes', 'a', 'txt', 'says', 'no', 'such', 'file']],
    ['move_rename HTTP404 -> 3.5', ['move', 'rename', 'http404', '3', '5']],
    ['Größe ΟΔΟΣ Ｆｕｌｌ', ['größe', 'οδος', 'full']],
    ['cafe\u0301 = café', ['café', 'café']],
    ['打开文件 a1 ひらく', ['打', '开', '文', '件', 'a1', 'ひ', 'ら', 'く']],
    ['abc打开def', ['abc', '打', '开', 'def']],
    ['\u001b[31m→ 🙂 —', ['31m']],
    ['', []],
    ['x'.repeat(100), ['x'.repeat(64)]],
  ])('of %j', (line, words) => {
    expect(wordsOf(line)).toEqual(words);
  });

  it('are the same in either case, and none is empty or has a space', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (line) => {
        const words = wordsOf(line);
        expect(words.every((word) => word !== '' && !/[\s\ue000"]/u.test(word))).toBe(true);
        expect(wordsOf(words.join(' '))).toEqual(words);
      }),
    );
  });
});

describe('a phrase', () => {
  it.each<[string, string, boolean]>([
    ['no such file', 'read x no such file', true],
    ['NO SUCH', 'read x no such file', true],
    ['no such fi', 'read x no such file', true],
    ['no such fi ', 'read x no such file', false],
    ['such no', 'read x no such file', false],
    ['no file', 'read x no such file', false],
    ['ile', 'read x no such file', false],
    ['notes/a.txt', 'open Notes/A.txt now', true],
    ['notes a', 'open notes/a.txt now', true],
    ['a a b', 'a a a b', true],
    ['a b', 'a ab', false],
    ['文件', '打开文件', true],
    ['->', 'a -> b', false],
    ['', 'a', false],
  ])('%j in %j: %s', (text, line, found) => {
    expect(lineHas(line, phraseOf(text))).toBe(found);
  });
});
