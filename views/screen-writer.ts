import type { Size } from './layout.ts';
import { graphemesOf, isSingleWidth, textWidth } from './line.ts';
import { BLANK, type Piece, type Row, sequenceOf } from './row.ts';

/** Synchronised output (mode 2026): terminals that know it show a frame in one go. */
const BEGIN = '\u001B[?2026h';
const END = '\u001B[?2026l';
/** Erases from the cursor to the end of the row (EL). */
const ERASE_REST = '\u001B[K';
/** Columns that stay as they are between two that change are written again when they are so few: moving there takes as many bytes. */
const GAP = 8;

/**
 * Knows what a terminal shows, and what has to be sent so that it shows something else: of rows that are simple the columns
 * that differ, of others the whole row. The terminal must not wrap long lines (DECAWM off), and nobody else may write to it.
 */
export class ScreenWriter {
  #rows: readonly Row[] = [];
  /** Null: nobody knows what the terminal shows. */
  #size: Size | null = null;

  /** The terminal was written to by somebody else: the next frame is a whole one. */
  forget(): void {
    this.#size = null;
  }

  /** The bytes after which the terminal shows these rows, from the top; '' when it does already. */
  frame(rows: readonly Row[], size: Size): string {
    const isWhole = size.rows !== this.#size?.rows || size.columns !== this.#size.columns;
    let body = '';
    for (let row = 0; row < size.rows; row++) {
      const after = rows[row] ?? BLANK;
      const before = this.#rows[row] ?? BLANK;
      if (isWhole) body += wholeRow(after, row, size.columns);
      else if (before.painted !== after.painted) body += changedRow(before, after, row, size.columns);
    }
    this.#rows = rows;
    this.#size = size;
    return body === '' ? '' : `${BEGIN}${body}${END}`;
  }
}

/** Moves the cursor (CUP). Rows and columns from 0. */
function moveTo(row: number, column: number): string {
  return column === 0 ? `\u001B[${row + 1}H` : `\u001B[${row + 1};${column + 1}H`;
}

/**
 * A row that is not simple is erased first, since terminals may disagree about where it ends; another one only behind its end, so that
 * nothing flickers where synchronised output is not known. Erasing behind the last column would take that column along.
 */
function wholeRow(row: Row, at: number, columns: number): string {
  const start = moveTo(at, 0);
  if (!row.simple) return start + ERASE_REST + sequenceOf(anchored(row.pieces));
  const length = row.pieces.reduce((sum, { text }) => sum + text.length, 0);
  return start + row.painted + (length < columns ? ERASE_REST : '');
}

function changedRow(before: Row, after: Row, at: number, columns: number): string {
  return before.simple && after.simple ? changedColumns(before, after, at) : wholeRow(after, at, columns);
}

/**
 * The pieces with the cursor moved to its column (CHA) after every character that is not plainly one column wide: terminals disagree
 * about the width of some, and would shift all that follows.
 */
function anchored(pieces: readonly Piece[]): Piece[] {
  let column = 0;
  return pieces.map(({ text, style }) => {
    if (isSingleWidth(text)) {
      column += text.length;
      return { text, style };
    }
    let moved = '';
    for (const grapheme of graphemesOf(text)) {
      column += textWidth(grapheme);
      moved += isSingleWidth(grapheme) ? grapheme : `${grapheme}\u001B[${column + 1}G`;
    }
    return { text: moved, style };
  });
}

function changedColumns(before: Row, after: Row, at: number): string {
  const [old, now] = [cellsOf(before), cellsOf(after)];
  const width = Math.max(old.text.length, now.text.length);
  const differs = (column: number): boolean =>
    (old.text[column] ?? ' ') !== (now.text[column] ?? ' ') ||
    (old.styles[column] ?? '') !== (now.styles[column] ?? '');
  let bytes = '';
  for (let column = 0; column < width; column++) {
    if (!differs(column)) continue;
    const from = column;
    let to = column + 1;
    for (column = to; column < width && column - to < GAP; column++) if (differs(column)) to = column + 1;
    bytes += moveTo(at, from) + sequenceOf(columnsOf(after.pieces, from, to));
    if (to > now.text.length) return bytes + ERASE_REST;
    column = to - 1;
  }
  return bytes;
}

/** Characters and styles of a simple row by column. */
function cellsOf({ pieces }: Row): { readonly text: string; readonly styles: readonly string[] } {
  const styles: string[] = [];
  let all = '';
  for (const { text, style } of pieces) {
    all += text;
    while (styles.length < all.length) styles.push(style);
  }
  return { text: all, styles };
}

/** The columns from `from` up to `to` of a simple row. */
function columnsOf(pieces: readonly Piece[], from: number, to: number): Piece[] {
  const taken: Piece[] = [];
  let start = 0;
  for (const { text, style } of pieces) {
    const part = text.slice(Math.max(0, from - start), Math.max(0, to - start));
    if (part !== '') taken.push({ text: part, style });
    start += text.length;
  }
  return taken;
}
