import { KeptBy } from './kept.ts';
import { fitLine, isSingleWidth, type Line } from './line.ts';
import { type Look, styleOf } from './look.ts';

/** A stretch of a row in one style: the parameters of an SGR sequence (ECMA-48 §8.3.117), '' for none. */
export interface Piece {
  readonly text: string;
  readonly style: string;
}

/** A row of the screen as the terminal gets it. */
export interface Row {
  /** Neighbours differ in their style; blanks in no style at the end are left out. */
  readonly pieces: readonly Piece[];
  /** The whole row with its escape sequences: two rows look the same when these are equal. */
  readonly painted: string;
  /** Every character is one UTF-16 unit and takes one column, so that an index is a column. */
  readonly simple: boolean;
}

/** A row without anything on it. */
export const BLANK: Row = { pieces: [], painted: '', simple: true };

const PAINTED = new KeptBy<Line, Row>();

/** The line as a row of at most `width` columns: the same one for the same line. */
export function paintLine(line: Line, width: number, look: Look): Row {
  return PAINTED.get(line, [width, look], () => paintNew(line, width, look));
}

function paintNew(line: Line, width: number, look: Look): Row {
  const pieces: Piece[] = [];
  for (const { text, tone } of fitLine(line, width, look)) {
    const style = styleOf(look, tone);
    const last = pieces.at(-1);
    if (text === '') continue;
    if (last?.style === style) pieces[pieces.length - 1] = { text: last.text + text, style };
    else pieces.push({ text, style });
  }
  const end = pieces.at(-1);
  if (end?.style === '') {
    const text = end.text.trimEnd();
    pieces.pop();
    if (text !== '') pieces.push({ text, style: '' });
  }
  return {
    pieces,
    painted: sequenceOf(pieces),
    simple: pieces.every(({ text }) => isSingleWidth(text)),
  };
}

/** The pieces one after the other, each in its style; the style is off before the first and after the last. */
export function sequenceOf(pieces: readonly Piece[]): string {
  let current = '';
  let sequence = '';
  for (const { text, style } of pieces) {
    if (style !== current) sequence += turn(current, style);
    sequence += text;
    current = style;
  }
  return current === '' ? sequence : sequence + turn(current, '');
}

function turn(from: string, to: string): string {
  if (to === '') return '\u001B[m';
  return from === '' ? `\u001B[${to}m` : `\u001B[0;${to}m`;
}
