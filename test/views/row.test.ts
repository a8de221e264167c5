import { describe, expect, it } from 'vitest';
import { seg } from '../../views/line.ts';
import { paintLine } from '../../views/row.ts';
import { COLOUR, PLAIN } from './looks.ts';

describe('paintLine', () => {
  it('leaves blanks out at the end and puts each tone in its own sequence', () => {
    const row = paintLine([seg('ok', 'good'), seg('  x  ')], 10, COLOUR);
    expect(row.painted).toBe('\u001B[36mok\u001B[m  x');
    expect(row.pieces).toEqual([
      { text: 'ok', style: '36' },
      { text: '  x', style: '' },
    ]);
  });

  it('makes one piece of neighbours in one style, and turns from one style to another in one go', () => {
    const row = paintLine([seg('a', 'good'), seg(''), seg('b', 'good'), seg('c', 'bad')], 10, COLOUR);
    expect(row.painted).toBe('\u001B[36mab\u001B[0;1;31mc\u001B[m');
  });

  it('writes no escape sequence on a terminal without them', () => {
    expect(paintLine([seg('ok', 'loud')], 5, PLAIN).painted).toBe('ok');
  });

  it('writes attributes but no colours under NO_COLOR', () => {
    const row = paintLine([seg('ok', 'loud')], 2, { ...COLOUR, colour: null });
    expect(row.painted).toBe('\u001B[1;7mok\u001B[m');
  });

  it('keeps blanks in a style that shows them', () => {
    expect(paintLine([seg('ok  ', 'selected')], 4, COLOUR).painted).toBe('\u001B[7mok  \u001B[m');
  });

  it('knows rows in which an index is not a column', () => {
    expect(paintLine([seg('─ ok ⠿')], 10, COLOUR).simple).toBe(true);
    for (const text of ['文', '👍', 'e\u0301']) expect(paintLine([seg(text)], 10, COLOUR).simple).toBe(false);
  });
});
