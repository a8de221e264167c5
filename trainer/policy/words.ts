/** A name as a whole: letters and digits, joined inside by `-`, `_`, `.`, `@` or `'` (`harbor-7.txt`). */
export interface NameSpan {
  readonly text: string;
  /** Number of words that stand before it in the line. */
  readonly wordsBefore: number;
  readonly start: number;
  readonly end: number;
}

export interface SplitLine {
  /** Hash of each run of letters and digits, in order: `harbor-7.txt` is three. */
  readonly words: readonly number[];
  readonly names: readonly NameSpan[];
}

/** 32-bit hash of a text: FNV-1a over its UTF-16 codes, then the murmur3 finaliser. */
export function hashText(text: string): number {
  let hash = FNV_OFFSET;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  return finaliseHash(hash);
}

/** Spreads the bits of a 32-bit number (murmur3's finaliser); the result is unsigned. */
export function finaliseHash(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Cuts a lower-cased line into words and names, in one pass and without regular expressions. */
export function splitLine(line: string): SplitLine {
  const words: number[] = [];
  const names: NameSpan[] = [];
  let nameStart = -1;
  let wordsBefore = 0;
  let hash = FNV_OFFSET;
  let inWord = false;
  for (let i = 0; i <= line.length; i++) {
    const code = i < line.length ? line.charCodeAt(i) : SPACE;
    if (isWordCode(code)) {
      if (nameStart < 0) {
        nameStart = i;
        wordsBefore = words.length;
      }
      hash = Math.imul((inWord ? hash : FNV_OFFSET) ^ code, FNV_PRIME);
      inWord = true;
      continue;
    }
    if (inWord) words.push(finaliseHash(hash));
    const joins = inWord && isConnector(code) && i + 1 < line.length && isWordCode(line.charCodeAt(i + 1));
    inWord = false;
    if (joins || nameStart < 0) continue;
    names.push({ text: line.slice(nameStart, i), wordsBefore, start: nameStart, end: i });
    nameStart = -1;
  }
  return { words, names };
}

/** Whether `text`, lower-cased, is one name, so that a search among a line's names finds it. */
export function isName(text: string): boolean {
  const { names } = splitLine(text);
  return names.length === 1 && names[0]?.text === text;
}

/**
 * Looks for a text that is no single name (it holds blanks or signs). Returns the number of words that stand before its
 * first or last whole occurrence, or -1. An occurrence that begins or ends inside a name does not count.
 */
export function findPhrase(line: string, phrase: string, which: 'first' | 'last'): number {
  if (phrase === '') return -1;
  const { names } = splitLine(line);
  const cutsName = (at: number): boolean => names.some((name) => name.start < at && at < name.end);
  let found = -1;
  let at = line.indexOf(phrase);
  while (at >= 0) {
    if (!cutsName(at) && !cutsName(at + phrase.length)) {
      found = splitLine(line.slice(0, at)).words.length;
      if (which === 'first') return found;
    }
    at = line.indexOf(phrase, at + 1);
  }
  return found;
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const SPACE = 0x20;

/** Digits, lower-case letters, and everything outside ASCII. */
function isWordCode(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || code > 0x7f;
}

function isConnector(code: number): boolean {
  return code === 0x2d || code === 0x5f || code === 0x2e || code === 0x40 || code === 0x27;
}
