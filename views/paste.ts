/** What makes the terminal say where a paste begins and ends (xterm's mode 2004), and takes that back. */
export const PASTE_ON = '\u001B[?2004h';
export const PASTE_OFF = '\u001B[?2004l';

/** What the terminal sends before a paste, without its Escape, and after it. */
export const PASTE_START = '[200~';
export const PASTE_END = '\u001B[201~';

/** Characters of a paste that are kept: far more than any line here is good for, and little enough to be edited. */
export const MOST_PASTED = 10_000;

/** A text that was pasted. */
export interface Paste {
  /** As it came, but for what is beyond `MOST_PASTED` UTF-16 units. */
  readonly text: string;
  /** UTF-16 units that came. */
  readonly length: number;
  /** The mark of its end never came: what follows of it may be lost. */
  readonly isCut: boolean;
}

/** Puts a paste together from the reads that bring it; the mark of its end may be spread over two of them. */
export class PasteReader {
  #text = '';
  #length = 0;
  /** The start of what may become the mark of the end. */
  #held = '';

  /** What follows the paste in this read, or null while the paste goes on. */
  take(chunk: string): string | null {
    const read = this.#held + chunk;
    const end = read.indexOf(PASTE_END);
    const begun = end < 0 ? beginningOfEnd(read) : 0;
    this.#keep(read.slice(0, end < 0 ? read.length - begun : end));
    this.#held = read.slice(read.length - begun);
    return end < 0 ? null : read.slice(end + PASTE_END.length);
  }

  paste(isCut: boolean): Paste {
    return { text: this.#text, length: this.#length, isCut };
  }

  #keep(text: string): void {
    this.#length += text.length;
    this.#text += text.slice(0, MOST_PASTED - this.#text.length);
  }
}

/** Characters at the end of a text that the mark of the end begins with. */
function beginningOfEnd(text: string): number {
  for (let length = PASTE_END.length - 1; length > 0; length -= 1) {
    if (text.endsWith(PASTE_END.slice(0, length))) return length;
  }
  return 0;
}

// CSI, OSC and the other strings with their ends, and Escape with one character (ECMA-48 §5.3 to 5.6).
const SEQUENCES =
  // oxlint-disable-next-line no-control-regex -- terminals send control characters
  /\u001B(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001B]*(?:\u0007|\u001B\\)?|[ -/]*[0-~])?/gu;

/**
 * A pasted text as part of one line: what a terminal would obey is left out, line ends and tabs become spaces, those around it
 * nothing.
 */
export function onOneLine(text: string): string {
  return text
    .replaceAll(SEQUENCES, '')
    .replaceAll(/^[\r\n]+|[\r\n]+$/gu, '')
    .replaceAll(/[\r\n\t\u2028\u2029]+/gu, ' ')
    .replaceAll(/[\p{Cc}\p{Cs}]/gu, '');
}
