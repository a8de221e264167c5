/** A line that is being typed, and where: `cursor` is the index of the character that what is typed is put before. */
export interface EditedLine {
  readonly text: string;
  readonly cursor: number;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** A line with the cursor at its end. */
export function lineOf(text: string): EditedLine {
  return { text, cursor: text.length };
}

/** What is before the cursor, the one character that it is on ('' at the end), and what is after that. */
export function partsAtCursor({ text, cursor }: EditedLine): readonly [string, string, string] {
  const after = text.slice(cursor);
  const on = first(after);
  return [text.slice(0, cursor), on, after.slice(on.length)];
}

type Edit = (line: EditedLine) => EditedLine;

/** Keys that move and erase, as in readline (GNU Readline's Emacs mode). */
const EDITS: Readonly<Record<string, Edit>> = {
  left: ({ text, cursor }) => ({ text, cursor: cursor - last(text.slice(0, cursor)).length }),
  right: ({ text, cursor }) => ({ text, cursor: cursor + first(text.slice(cursor)).length }),
  home: ({ text }) => ({ text, cursor: 0 }),
  end: ({ text }) => lineOf(text),
  'ctrl-left': ({ text, cursor }) => ({ text, cursor: wordStart(text, cursor) }),
  'ctrl-right': ({ text, cursor }) => ({ text, cursor: wordEnd(text, cursor) }),
  backspace: ({ text, cursor }) => without(text, cursor - last(text.slice(0, cursor)).length, cursor),
  delete: ({ text, cursor }) => without(text, cursor, cursor + first(text.slice(cursor)).length),
  'ctrl-w': ({ text, cursor }) => without(text, wordStart(text, cursor), cursor),
  'ctrl-u': ({ text, cursor }) => without(text, 0, cursor),
  'ctrl-k': ({ text, cursor }) => without(text, cursor, text.length),
};
const SAME_AS: Readonly<Record<string, string>> = {
  'ctrl-a': 'home',
  'ctrl-e': 'end',
  'ctrl-b': 'left',
  'ctrl-f': 'right',
  'ctrl-d': 'delete',
};

/** The line after a key; null for a key that means nothing in a line. */
export function editLine(line: EditedLine, key: string): EditedLine | null {
  const edit = EDITS[SAME_AS[key] ?? key];
  if (edit !== undefined) return edit(line);
  const typed = key === 'space' ? ' ' : key;
  return Array.from(typed).length === 1 ? insertText(line, typed) : null;
}

/** The line with a text put in where the cursor is, which then stands behind it. */
export function insertText({ text, cursor }: EditedLine, typed: string): EditedLine {
  return { text: text.slice(0, cursor) + typed + text.slice(cursor), cursor: cursor + typed.length };
}

function without(text: string, from: number, to: number): EditedLine {
  return { text: text.slice(0, from) + text.slice(to), cursor: from };
}

/** Where the word before a place begins; words are what spaces separate, as the terms of a filter. */
function wordStart(text: string, cursor: number): number {
  return cursor - (/\S*\s*$/u.exec(text.slice(0, cursor))?.[0].length ?? 0);
}

function wordEnd(text: string, cursor: number): number {
  return cursor + (/^\s*\S*/u.exec(text.slice(cursor))?.[0].length ?? 0);
}

function first(text: string): string {
  for (const { segment } of graphemes.segment(text)) return segment;
  return '';
}

function last(text: string): string {
  return Array.from(graphemes.segment(text)).at(-1)?.segment ?? '';
}
