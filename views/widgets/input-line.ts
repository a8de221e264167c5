import { fitLine, type Line, seg, textWidth, untrusted } from '../line.ts';
import { type EditedLine, partsAtCursor } from '../line-editor.ts';
import type { Look } from '../look.ts';

/** A line that is being typed; `problem` are the lines of the error of the last try. */
export interface LineInput extends EditedLine {
  readonly problem: readonly string[];
}

/** The line with its cursor, which is always in sight: what does not fit before it is left out, what does not after it is cut. */
export function drawInputLine(line: EditedLine, width: number, look: Look, prompt = '/'): Line {
  const [before, on, after] = partsAtCursor(line).map(untrusted);
  const cursor = on === '' || !look.attributes ? seg('_', 'accent') : seg(on ?? '', 'selected');
  const rest = look.attributes ? (after ?? '') : `${on ?? ''}${after ?? ''}`;
  // One column more where the line goes on: its last one may have to say that it does.
  const room = width - prompt.length - 1 - textWidth(cursor.text) - Number(rest !== '');
  let shown = before ?? '';
  while (shown !== '' && textWidth(shown) > room) shown = shown.slice(1);
  return fitLine([seg(`${prompt} `, 'accent'), seg(shown), cursor, seg(rest)], width, look);
}
