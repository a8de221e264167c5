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

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
const SPACE = 0x20;

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

/** Numbers for each name of a scanned line. */
const NAME_WIDTH = 3;

/**
 * Cuts lower-cased lines into words and names, in one pass, without regular expressions and without making anything anew:
 * what was found of the newest line stands in its arrays.
 */
export class LineScanner {
  #words = new Uint32Array(64);
  #names = new Int32Array(NAME_WIDTH * 64);
  #wordCount = 0;
  #nameCount = 0;

  /** Hash of each run of letters and digits, in order; there may be older ones behind `wordCount`. */
  get words(): Uint32Array {
    return this.#words;
  }

  get wordCount(): number {
    return this.#wordCount;
  }

  get nameCount(): number {
    return this.#nameCount;
  }

  /** Where a name begins. */
  nameStart(name: number): number {
    return this.#names[NAME_WIDTH * name] ?? 0;
  }

  /** Where it has ended. */
  nameEnd(name: number): number {
    return this.#names[NAME_WIDTH * name + 1] ?? 0;
  }

  /** How many words stand before it. */
  wordsBefore(name: number): number {
    return this.#names[NAME_WIDTH * name + 2] ?? 0;
  }

  scan(line: string): void {
    const { length } = line;
    this.#makeRoom(length);
    const [words, names] = [this.#words, this.#names];
    let [wordCount, nameCount] = [0, 0];
    let nameStart = -1;
    let wordsBefore = 0;
    let hash = FNV_OFFSET;
    let inWord = false;
    for (let i = 0; i <= length; i++) {
      const code = i < length ? line.charCodeAt(i) : SPACE;
      if (isWordCode(code)) {
        if (nameStart < 0) {
          nameStart = i;
          wordsBefore = wordCount;
        }
        hash = Math.imul((inWord ? hash : FNV_OFFSET) ^ code, FNV_PRIME);
        inWord = true;
        continue;
      }
      if (inWord) words[wordCount++] = finaliseHash(hash);
      const joins = inWord && isConnector(code) && i + 1 < length && isWordCode(line.charCodeAt(i + 1));
      inWord = false;
      if (joins || nameStart < 0) continue;
      const at = NAME_WIDTH * nameCount++;
      names[at] = nameStart;
      names[at + 1] = i;
      names[at + 2] = wordsBefore;
      nameStart = -1;
    }
    this.#wordCount = wordCount;
    this.#nameCount = nameCount;
  }

  /** Every second character of a line can be a word, and a name. */
  #makeRoom(length: number): void {
    const most = Math.ceil((length + 1) / 2);
    if (most <= this.#words.length) return;
    this.#words = new Uint32Array(2 * most);
    this.#names = new Int32Array(NAME_WIDTH * 2 * most);
  }
}

const scanner = new LineScanner();

/** Cuts a lower-cased line into words and names. */
export function splitLine(line: string): SplitLine {
  scanner.scan(line);
  const names = Array.from({ length: scanner.nameCount }, (_, name): NameSpan => {
    const [start, end] = [scanner.nameStart(name), scanner.nameEnd(name)];
    return { text: line.slice(start, end), wordsBefore: scanner.wordsBefore(name), start, end };
  });
  return { words: [...scanner.words.subarray(0, scanner.wordCount)], names };
}

/** Whether `text`, lower-cased, is one name, so that a search among a line's names finds it. */
export function isName(text: string): boolean {
  scanner.scan(text);
  return scanner.nameCount === 1 && scanner.nameStart(0) === 0 && scanner.nameEnd(0) === text.length;
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

/** Digits, lower-case letters, and everything outside ASCII. */
function isWordCode(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || code > 0x7f;
}

function isConnector(code: number): boolean {
  return code === 0x2d || code === 0x5f || code === 0x2e || code === 0x40 || code === 0x27;
}
