import { formatCount } from './format.ts';
import { isTooSmall } from './layout.ts';
import { insertText } from './line-editor.ts';
import { onOneLine, type Paste } from './paste.ts';
import type { Session } from './session.ts';

/**
 * Puts a pasted text into the line that is being typed. Where there is none it does nothing: its characters must not act as keys.
 */
export function takePaste(session: Session, paste: Paste): void {
  if (isTooSmall(session.size)) return;
  const text = onOneLine(paste.text);
  if (!putIntoLine(session, text)) {
    return session.say(`pasted ${characters(paste.length)}: nothing to paste into`);
  }
  if (paste.isCut) session.say(`the paste broke off after ${characters(paste.length)}`, 'bad');
  else if (paste.length > paste.text.length) {
    session.say(`the first ${characters(paste.text.length)} of ${formatCount(paste.length)} were pasted`);
  }
  return session.changed();
}

/** False where no line is open. */
function putIntoLine(session: Session, text: string): boolean {
  const { front, prompt, palette, filterInput } = session;
  if (front === 'prompt' && prompt !== null) {
    session.prompt = { ...prompt, ...insertText(prompt, text), problem: null };
  } else if (front === 'palette' && palette !== null) palette.insert(text);
  else if (front === 'filter' && filterInput !== null) {
    const line = insertText(filterInput, text);
    session.filterInput = { ...line, problem: [] };
    session.completion?.ask(line);
  } else return false;
  return true;
}

function characters(count: number): string {
  return count === 1 ? '1 character' : `${formatCount(count)} characters`;
}
