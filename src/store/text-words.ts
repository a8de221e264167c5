/** Words longer than this are cut, in what is searched and in what is searched for. */
const MAX_WORD = 64;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const ASCII_WORD = /[a-z0-9]+/gu;
/** Scripts that write no space between words: each of their characters is a word, so that a phrase finds any part. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const UNSPACED_OR_RUN = new RegExp(`${UNSPACED.source}|${UNSPACED.source.replace('[', '[^')}+`, 'gu');

/** What a quoted text asks for: these words one after the other within a line. */
export interface Phrase {
  readonly words: readonly string[];
  /** The last word may go on. */
  readonly openEnd: boolean;
}

/** The words of a line, in lower case: runs of letters and digits. Everything between them only separates. */
export function wordsOf(line: string): string[] {
  const folded = foldText(line);
  const words = isAscii(folded) ? folded.match(ASCII_WORD) : unicodeWords(folded);
  if (words === null) return [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    if (word.length > MAX_WORD) words[i] = word.slice(0, MAX_WORD);
  }
  return words;
}

/** Case and compatibility forms (as of full-width letters) are the same. */
export function foldText(text: string): string {
  return isAscii(text) ? text.toLowerCase() : text.normalize('NFKC').toLowerCase();
}

/**
 * Understands a quoted text. As one types it, its last word may be the beginning of a longer one; a space or another
 * separator after it says that it is whole. Without a letter or digit there is nothing to look for: no words.
 */
export function phraseOf(text: string): Phrase {
  const words = wordsOf(text);
  return { words, openEnd: words.length > 0 && /[\p{L}\p{M}\p{N}]$/u.test(text) };
}

/** Whether a line has the phrase. */
export function lineHas(line: string, phrase: Phrase): boolean {
  const { words, openEnd } = phrase;
  const last = words.length - 1;
  if (last < 0) return false;
  const present = wordsOf(line);
  for (let start = 0; start + last < present.length; start++) {
    let same = 0;
    while (same < last && present[start + same] === words[same]) same++;
    if (same < last) continue;
    const [found, wanted] = [present[start + last] ?? '', words[last] ?? ''];
    if (found === wanted || (openEnd && found.startsWith(wanted))) return true;
  }
  return false;
}

function unicodeWords(folded: string): string[] {
  const runs = folded.match(WORD) ?? [];
  return runs.flatMap((run) => (UNSPACED.test(run) ? (run.match(UNSPACED_OR_RUN) ?? []) : [run]));
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}
