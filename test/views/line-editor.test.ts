import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineWidth } from '../../views/line.ts';
import { type EditedLine, editLine, lineOf, partsAtCursor } from '../../views/line-editor.ts';
import { LineHistory } from '../../views/line-history.ts';
import { drawInputLine } from '../../views/widgets/input-line.ts';
import { BRAILLE, COLOUR, PLAIN, textOf } from './looks.ts';

const KEYS = [
  'left',
  'right',
  'home',
  'end',
  'ctrl-left',
  'ctrl-right',
  'backspace',
  'delete',
  'ctrl-w',
  'ctrl-u',
  'ctrl-k',
  'space',
  'a',
  '文',
  '\u{1f600}',
  'e\u0301',
];

function typed(keys: readonly string[], line: EditedLine = lineOf('')): EditedLine {
  return keys.reduce((before, key) => editLine(before, key) ?? before, line);
}

/** The line with a bar where the cursor is. */
function shown(line: EditedLine): string {
  return `${line.text.slice(0, line.cursor)}|${line.text.slice(line.cursor)}`;
}

describe('a line', () => {
  it('is typed and erased where the cursor is', () => {
    const line = lineOf('fail:any steps>20');
    expect(shown(typed(['ctrl-left', 'left', '2'], line))).toBe('fail:any2| steps>20');
    expect(shown(typed(['home', 'x', 'right', 'delete'], line))).toBe('xf|il:any steps>20');
    expect(shown(typed(['ctrl-a', 'ctrl-right', 'ctrl-k'], line))).toBe('fail:any|');
    expect(shown(typed(['ctrl-w'], line))).toBe('fail:any |');
    expect(shown(typed(['ctrl-w', 'ctrl-w'], line))).toBe('|');
    expect(shown(typed(['ctrl-left', 'ctrl-u'], line))).toBe('|steps>20');
    expect(shown(typed(['ctrl-b', 'ctrl-b', 'ctrl-f', 'backspace', 'ctrl-e'], line))).toBe(
      'fail:any steps>0|',
    );
    expect(editLine(line, 'pgup')).toBeNull();
  });

  it('does at its ends what can be done there, and never cuts a character in two', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...KEYS), { maxLength: 40 }), (keys) => {
        const line = typed(keys);
        expect(line.cursor).toBeGreaterThanOrEqual(0);
        expect(line.cursor).toBeLessThanOrEqual(line.text.length);
        expect(partsAtCursor(line).join('')).toBe(line.text);
        // Half a character.
        expect(line.text.slice(0, line.cursor)).not.toMatch(/\p{Surrogate}/u);
        expect(line.text).not.toMatch(/\p{Surrogate}/u);
        // There and back again.
        expect(typed(['end', 'home'], line).cursor).toBe(0);
        const isAtEnd = line.cursor === line.text.length;
        expect(typed(isAtEnd ? [] : ['right', 'left'], line)).toEqual(line);
      }),
    );
  });

  it('is drawn with its cursor in sight, at any width', () => {
    const line = { text: 'fail:any steps>20', cursor: 9 };
    expect(drawInputLine(line, 40, COLOUR).find(({ tone }) => tone === 'selected')?.text).toBe('s');
    // Without attributes nothing can be inverted.
    expect(textOf([drawInputLine(line, 40, PLAIN)])[0]?.trimEnd()).toBe('/ fail:any _steps>20');
    expect(textOf([drawInputLine(lineOf('abc'), 40, BRAILLE)])[0]?.trimEnd()).toBe('/ abc_');
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...KEYS), { maxLength: 40 }),
        fc.integer({ min: 8, max: 30 }),
        fc.constantFrom(COLOUR, PLAIN),
        (keys, width, look) => {
          const edited = typed(keys);
          const drawn = drawInputLine(edited, width, look);
          expect(lineWidth(drawn)).toBe(width);
          expect(
            drawn.some(({ text, tone }) => tone === 'selected' || (tone === 'accent' && text === '_')),
          ).toBe(true);
        },
      ),
    );
  });
});

describe('lines that were accepted', () => {
  it('come back the newest first, and what was typed comes after them', () => {
    const lines = new LineHistory();
    expect(lines.move('episodes', -1, 'typed')).toBeNull();
    for (const text of ['one', 'two', ' ', 'one']) lines.add('episodes', text);
    lines.add('events', 'worker');
    expect(lines.move('episodes', 1, 'typed')).toBeNull();
    expect(lines.move('episodes', -1, 'typed')).toBe('one');
    expect(lines.move('episodes', -1, 'one')).toBe('two');
    expect(lines.move('episodes', -1, 'two')).toBeNull();
    expect(lines.move('episodes', 1, 'two changed')).toBe('one');
    expect(lines.move('episodes', 1, 'one')).toBe('typed');
    expect(lines.move('episodes', 1, 'typed')).toBeNull();
    lines.leave();
    expect(lines.move('events', -1, '')).toBe('worker');
  });
});
