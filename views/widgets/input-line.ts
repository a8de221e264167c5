import { fitLine, type Line, seg, textWidth, untrusted } from '../line.ts';
import type { Look } from '../look.ts';

/** A line that is being typed; `problem` are the lines of the error of the last try. */
export interface LineInput {
  readonly text: string;
  readonly problem: readonly string[];
}

/** The line with its cursor; a text longer than the row shows its end. */
export function drawInputLine(input: LineInput, width: number, look: Look, prompt = '/'): Line {
  let shown = untrusted(input.text);
  while (textWidth(shown) > width - prompt.length - 2) shown = shown.slice(1);
  return fitLine([seg(`${prompt} `, 'accent'), seg(shown), seg('_', 'accent')], width, look);
}

/** The text after a key; null for a key that types nothing. */
export function typeKey(text: string, key: string): string | null {
  if (key === 'backspace') return Array.from(text).slice(0, -1).join('');
  if (key === 'ctrl-u') return '';
  const typed = key === 'space' ? ' ' : key;
  return Array.from(typed).length === 1 ? text + typed : null;
}
