import fc from 'fast-check';
import { expect, it } from 'vitest';
import { visibleText } from '../../src/domain/visible-text.ts';

it('control and escape characters become visible, on one line', () => {
  expect(visibleText('a\u001B[31mred\u0007\r\n\tb\u009B2J\u007F')).toBe(
    'a\\e[31mred\\x07\\r\\n\\tb\\x9b2J\\x7f',
  );
});

it('characters that hide or reorder text become visible', () => {
  expect(visibleText('a\u202Eb\u200Bc\uFEFFd\u2028e\u{E0041}f\u00AD')).toBe(
    'a\\u{202e}b\\u{200b}c\\u{feff}d\\u{2028}e\\u{e0041}f\\xad',
  );
  expect(visibleText('half \uD83D of a pair')).toBe('half \\u{d83d} of a pair');
});

it('ordinary text of any script, wide characters and joined emoji stay as they are', () => {
  for (const text of ['grüße', '環境を読む', '👩\u200D👩\u200D👧', 'مرحبا', 'a\\nb'])
    expect(visibleText(text)).toBe(text);
});

it('nothing that comes out can move a cursor or start a line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(visibleText(text)).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u);
    }),
  );
});
