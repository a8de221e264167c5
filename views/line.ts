import stringWidth from 'string-width';
import { visibleText } from '../src/domain/visible-text.ts';
import { type Look, symbolsOf, type Tone } from './look.ts';

/** A piece of a line in one tone. Its text holds no control characters. */
export interface Segment {
  readonly text: string;
  readonly tone: Tone;
}

/** One row of the screen before it is painted. */
export type Line = readonly Segment[];

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const PRINTABLE_ASCII = /^[\u0020-\u007E]*$/u;
/** ASCII, dashes, arrows, box drawing, blocks and braille: one column each. Measuring them properly costs ten times more. */
const SINGLE_WIDTH = /^[\u0020-\u007E\u00B7\u2010-\u2027\u203A\u2190-\u21FF\u2500-\u259F\u2800-\u28FF]*$/u;

/** Whether every character plainly takes one column, and one UTF-16 unit: an index is then a column. */
export function isSingleWidth(text: string): boolean {
  return SINGLE_WIDTH.test(text);
}

/** Columns that a text takes on the terminal. */
export function textWidth(text: string): number {
  return isSingleWidth(text) ? text.length : stringWidth(text);
}

/** What a reader takes for the characters of a text (UAX 29). */
export function graphemesOf(text: string): string[] {
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

/**
 * Text from an agent, an environment, a file or another process, safe to draw. Joiners and variation selectors go:
 * terminals disagree about the width of what they make, and a row of the wrong width corrupts the ones after it.
 */
export function untrusted(text: string): string {
  return visibleText(text).replaceAll(/\u200C|\u200D|[\uFE00-\uFE0F]/gu, '');
}

/** A segment; plain unless said otherwise. */
export function seg(text: string, tone: Tone = 'plain'): Segment {
  return { text, tone };
}

/** Columns that a line takes. */
export function lineWidth(line: Line): number {
  return line.reduce((sum, { text }) => sum + textWidth(text), 0);
}

/** The longest start of a text that takes at most `width` columns. A wide character is never cut in half. */
function takeColumns(text: string, width: number): string {
  if (PRINTABLE_ASCII.test(text)) return text.slice(0, Math.max(0, width));
  let used = 0;
  let end = 0;
  for (const { segment, index } of graphemes.segment(text)) {
    used += textWidth(segment);
    if (used > width) break;
    end = index + segment.length;
  }
  return text.slice(0, end);
}

/** The text at exactly `width` columns: padded with spaces, or cut and ended by an ellipsis. */
export function fit(text: string, width: number, look: Look, align: 'left' | 'right' = 'left'): string {
  if (width <= 0) return '';
  const own = textWidth(text);
  if (own > width) {
    const start = takeColumns(text, width - 1);
    return `${start}${symbolsOf(look).ellipsis}${' '.repeat(width - 1 - textWidth(start))}`;
  }
  const padding = ' '.repeat(width - own);
  return align === 'left' ? text + padding : padding + text;
}

/** The line at exactly `width` columns: padded, or cut and ended by an ellipsis. */
export function fitLine(line: Line, width: number, look: Look): Segment[] {
  const fitted: Segment[] = [];
  let left = Math.max(0, width);
  const total = lineWidth(line);
  for (const segment of line) {
    const own = textWidth(segment.text);
    // Of the last piece that goes on the screen, one column is the ellipsis if anything follows that does not.
    if (own > left || (own === left && total > width)) {
      fitted.push(seg(fit(`${segment.text} `, left, look), segment.tone));
      return fitted.filter(({ text }) => text !== '');
    }
    fitted.push(segment);
    left -= own;
  }
  if (left > 0) fitted.push(seg(' '.repeat(left)));
  return fitted;
}

/** `left` and `right` at the two ends of a line of `width` columns; `right` goes first when there is no room. */
export function spread(left: Line, right: Line, width: number, look: Look): Segment[] {
  const rest = width - lineWidth(right);
  if (rest < lineWidth(left) + 1) return fitLine(left, width, look);
  return [...fitLine(left, rest, look), ...right];
}

/** Pieces of a line joined by a separator; as many whole ones as fit into `width`, in order. */
export function joinFitting(pieces: readonly Line[], separator: string, width: number): Segment[] {
  const joined: Segment[] = [];
  let used = 0;
  for (const piece of pieces) {
    const own = lineWidth(piece) + (used === 0 ? 0 : textWidth(separator));
    if (used + own > width) break;
    if (used > 0) joined.push(seg(separator, 'dim'));
    joined.push(...piece);
    used += own;
  }
  return joined;
}

/** A text over as many rows of at most `width` columns as it needs; broken at spaces where there are any. */
export function wrap(text: string, width: number): string[] {
  const rows: string[] = [];
  let rest = text;
  while (textWidth(rest) > width) {
    let start = takeColumns(rest, width);
    // A character wider than the row itself must still make progress.
    if (start === '') start = String.fromCodePoint(rest.codePointAt(0) ?? 0);
    const space = start.lastIndexOf(' ');
    const cut = rest[start.length] !== ' ' && space > 0 ? space + 1 : start.length;
    rows.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).trimStart();
  }
  return [...rows, rest];
}
