import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { fit, fitLine, lineWidth, seg, spread, textWidth, untrusted, wrap } from '../../views/line.ts';
import { BRAILLE, PLAIN, textOf } from './looks.ts';

const words = fc.string({ unit: fc.constantFrom('a', ' ', '文', 'é', '…', '⠿', '👍', '─'), maxLength: 30 });

describe('fit', () => {
  it('pads, aligns, and cuts with an ellipsis', () => {
    expect(fit('ab', 4, BRAILLE)).toBe('ab  ');
    expect(fit('ab', 4, BRAILLE, 'right')).toBe('  ab');
    expect(fit('abcdef', 4, BRAILLE)).toBe('abc…');
    expect(fit('abcdef', 4, PLAIN)).toBe('abc~');
  });

  it('never cuts a wide character in half', () => {
    expect(fit('文件名', 4, BRAILLE)).toBe('文… ');
  });

  it('takes exactly the columns asked for, whatever the text', () => {
    fc.assert(
      fc.property(words, fc.integer({ min: 1, max: 20 }), (text, width) => {
        expect(stringWidth(fit(text, width, BRAILLE))).toBe(width);
      }),
    );
  });
});

describe('fitLine', () => {
  it('takes exactly the columns asked for, whatever the pieces', () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 5 }), fc.nat(40), (texts, width) => {
        const line = fitLine(
          texts.map((text) => seg(text)),
          width,
          BRAILLE,
        );
        expect(lineWidth(line)).toBe(width);
      }),
    );
  });

  it('marks that something was cut even where a piece ends at the edge', () => {
    expect(textOf([fitLine([seg('abcd'), seg('ef')], 4, BRAILLE)])).toEqual(['abc…']);
  });
});

describe('textWidth', () => {
  it('agrees with string-width', () => {
    fc.assert(
      fc.property(words, (text) => {
        expect(textWidth(text)).toBe(stringWidth(text));
      }),
    );
    for (const text of ['›', '┊', '╌', '▁█', '→', '⣿', '·', '…'])
      expect(textWidth(text)).toBe(stringWidth(text));
  });
});

describe('wrap', () => {
  it('breaks at spaces, and inside a word that is longer than the row', () => {
    expect(wrap('move the notes file', 9)).toEqual(['move the', 'notes', 'file']);
    expect(wrap('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij']);
  });

  it('keeps every row within the width and loses nothing but spaces', () => {
    fc.assert(
      fc.property(words, fc.integer({ min: 2, max: 12 }), (text, width) => {
        const rows = wrap(text, width);
        for (const row of rows) expect(textWidth(row)).toBeLessThanOrEqual(width);
        expect(rows.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
      }),
    );
  });
});

describe('untrusted', () => {
  it('makes escape sequences visible', () => {
    expect(untrusted('a\u001B[2Jb\u0007\n')).toBe('a\\e[2Jb\\x07\\n');
  });

  it('drops joiners and variation selectors, whose width terminals disagree about', () => {
    expect(untrusted('👩\u200D💻⚠\uFE0F')).toBe('👩💻⚠');
  });
});

describe('spread', () => {
  it('puts the right part at the end, and leaves it out where there is no room', () => {
    expect(textOf([spread([seg('left')], [seg('right')], 12, PLAIN)])).toEqual(['left   right']);
    expect(textOf([spread([seg('left')], [seg('right')], 9, PLAIN)])).toEqual(['left     ']);
  });
});
