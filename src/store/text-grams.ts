import { BEGUN_LETTERS, beginningsOf, type PhraseEnds } from './text-begun.ts';
import { wordsOf } from './text-words.ts';

/** Documents of a block: those numbered BLOCK × b to BLOCK × (b + 1) − 1. */
export const BLOCK = 4096;
/** Longest phrase, in words, that is looked up instead of searched for. */
export const MAX_GRAM = 4;
/**
 * A word in so many documents of a block or more is common there: the first, or the second where phrases of the words that are
 * common by the first are too many to be listed.
 */
const COMMON = [32, 128] as const;
/** The documents of a word or phrase are kept as a set from so many on, as a list below. */
const LEAST_OF_SET = 128;
/** Words of different lines that a block may hold in memory; of a block of more text no phrase is looked up. */
const MOST_WORDS = 4_000_000;
/** Phrases of one length that are not common may be in so many documents of a block together: 2 bytes each on the disk. */
const MOST_LISTED = 65_536;
/** The same of phrases with an open end, of one length and of beginnings of so many letters. */
const MOST_BEGUN = 131_072;
/** A line in so many documents is added as a set of them, 32 at a time. */
const MANY = 64;
/** Bytes of a set of documents; what is shorter is a list. */
export const SET_BYTES = BLOCK / 8;
const SET_WORDS = BLOCK / 32;

/** The documents of one block that have a phrase: a set, a bit each, where it is common; else a list of their places, u16. */
export interface BlockPhrase {
  readonly gram: string;
  readonly members: Buffer;
}

/** What can be looked up of a block. */
export interface BlockPhrases {
  readonly phrases: readonly BlockPhrase[];
  /** Every phrase of common words of up to so many is there if any document has it. 0: not even common words are. */
  readonly complete: number;
  /**
   * Phrases of up to so many words with an open end are there too, as far as their last word goes on in one that is not common,
   * and the words before it are: by each beginning of BEGUN_LETTERS, if any document has it. 0: none are.
   */
  readonly begun: number;
}

/** Phrases of one length, by number: what each is, and which begins at each word of the lines (−1: none that counts). */
interface Level {
  readonly grams: readonly string[];
  readonly starts: Int32Array;
}

/** What is to be listed with an open end: after which words, and which beginnings. */
interface Begun {
  /** Phrases of common words; null: nothing before. */
  readonly context: Level | null;
  readonly length: number;
  readonly beginnings: readonly PhraseEnds[];
}

/** Where what belongs to each of some things, one after the other, ends. */
interface Runs {
  readonly ends: Int32Array;
  readonly values: Int32Array;
}

/**
 * Finds, of a block of documents, the words that are common, and the phrases of up to MAX_GRAM common words with the documents
 * that have them: all those for which a full-text index would have to walk through much. Phrases of common words are few, since
 * what is common is what the environment says again and again; where they are not, only common ones are kept, each part of
 * which is common too (Agrawal and Srikant 1994).
 *
 * A block has tens of thousands of lines. They are kept as numbers in a few long arrays: as objects they would be most of
 * what the collector looks at.
 */
export class BlockGrams {
  readonly #onWord: (word: string) => void;
  readonly #wordIds = new Map<string, number>();
  readonly #lineIds = new Map<string, number>();
  /** Of each line, its words as text with a space between. */
  #texts: string[] = [];
  /** Words of all lines, and where those of each line end. */
  #words = new NumberList();
  #lineEnds = new NumberList();
  /** Lines of all documents, and where those of each document end. */
  #lines = new NumberList();
  #documentEnds = new NumberList();
  #overflows = false;

  /** `onWord` is called with each word of a line that the block did not have before. */
  constructor(onWord: (word: string) => void) {
    this.#onWord = onWord;
  }

  /** Notes the next document; returns the words of each of its lines, with a space between. */
  add(lines: readonly string[]): string[] {
    const texts = lines.map((line) => {
      if (this.#overflows) return wordsOf(line).map(this.#noted).join(' ');
      const id = this.#lineIds.get(line) ?? this.#addLine(line);
      this.#lines.push(id);
      return this.#texts[id] ?? '';
    });
    this.#documentEnds.push(this.#lines.length);
    if (this.#words.length > MOST_WORDS) this.#giveUp();
    return texts;
  }

  /** What can be looked up of a whole block. */
  common(): BlockPhrases {
    if (this.#overflows) return { phrases: [], complete: 0, begun: 0 };
    const documents = this.#documentsOfLines();
    const listed = this.#list(documents, COMMON[0]);
    return listed.complete === MAX_GRAM ? listed : this.#list(documents, COMMON[1]);
  }

  #list(documents: Runs, least: number): BlockPhrases {
    const phrases: BlockPhrase[] = [];
    const texts = [...this.#wordIds.keys()];
    const words = this.#membersOf({ grams: texts, starts: this.#words.all() }, documents, least);
    const isCommon = Uint8Array.from(words, (members) => Number(members !== null));
    for (const [word, gram] of texts.entries()) push(phrases, gram, words[word] ?? null);
    const common = { texts, ofWord: Int32Array.from(isCommon, (is, word) => (is === 1 ? word : -1)) };
    const beginnings = BEGUN_LETTERS.map((letters) => beginningsOf(texts, isCommon, letters));
    let level: Level = { grams: texts, starts: kept(this.#words.all(), (word) => isCommon[word] === 1) };
    let complete = 1;
    let begun = 0;
    const listBegun = (context: Level | null, length: number): void => {
      if (begun === length && this.#listBegun({ context, length, beginnings }, documents, phrases))
        begun += 1;
    };
    listBegun(null, 0);
    listBegun(level, 1);
    for (let length = 2; length <= MAX_GRAM; length += 1) {
      level = this.#followed(level, length - 1, common);
      const found = this.#membersOf(level, documents, 1);
      const listed = found.reduce((sum, members) => sum + listLength(members), 0);
      const isWhole = complete === length - 1 && listed <= MOST_LISTED;
      if (isWhole) complete = length;
      for (const [gram, text] of level.grams.entries()) {
        const members = found[gram] ?? null;
        if (isWhole || listLength(members) === 0) push(phrases, text, members);
      }
      if (isWhole && length < MAX_GRAM) listBegun(level, length);
      if (isWhole) continue;
      const starts = kept(level.starts, (gram) => listLength(found[gram] ?? null) === 0);
      level = { grams: level.grams, starts };
    }
    // What goes on in common words is told by phrases of these.
    return { phrases, complete, begun: Math.min(begun, complete) };
  }

  /** Lists what goes on, after some common words or none, in words that are not; false where that would be too much. */
  #listBegun({ context, length, beginnings }: Begun, documents: Runs, phrases: BlockPhrase[]): boolean {
    const all: BlockPhrase[] = [];
    for (const of of beginnings) {
      const level = this.#followed(context, length, of);
      const found = this.#membersOf(level, documents, 1);
      if (found.reduce((sum, members) => sum + listLength(members), 0) > MOST_BEGUN) return false;
      for (const [gram, text] of level.grams.entries()) push(all, text, found[gram] ?? null);
    }
    for (const phrase of all) phrases.push(phrase);
    return true;
  }

  readonly #noted = (word: string): string => {
    this.#wordId(word);
    return word;
  };

  /** So much text is not looked up: only its words are still to be said. */
  #giveUp(): void {
    this.#overflows = true;
    this.#lineIds.clear();
    this.#texts = [];
    for (const list of [this.#words, this.#lineEnds, this.#lines, this.#documentEnds]) list.clear();
  }

  #addLine(line: string): number {
    const words = wordsOf(line);
    for (const word of words) this.#words.push(this.#wordId(word));
    this.#lineEnds.push(this.#words.length);
    const id = this.#texts.push(words.join(' ')) - 1;
    this.#lineIds.set(line, id);
    return id;
  }

  #wordId(word: string): number {
    const known = this.#wordIds.get(word);
    if (known !== undefined) return known;
    const id = this.#wordIds.size;
    this.#wordIds.set(word, id);
    this.#onWord(word);
    return id;
  }

  /** The places of the documents that have each line. */
  #documentsOfLines(): Runs {
    const lines = this.#lines.all();
    const ends = new Int32Array(this.#texts.length);
    for (const line of lines) ends[line] = (ends[line] ?? 0) + 1;
    for (let line = 1; line < ends.length; line += 1) ends[line] = (ends[line] ?? 0) + (ends[line - 1] ?? 0);
    const values = new Int32Array(lines.length);
    const next = ends.slice();
    let at = lines.length;
    const documentEnds = this.#documentEnds.all();
    for (let document = documentEnds.length - 1; document >= 0; document -= 1) {
      for (const begin = documentEnds[document - 1] ?? 0; at > begin; ) {
        at -= 1;
        const line = lines[at] ?? 0;
        const place = (next[line] ?? 0) - 1;
        next[line] = place;
        values[place] = document;
      }
    }
    return { ends, values };
  }

  /** For each phrase the documents that have it; null for one that fewer than `least` have. */
  #membersOf({ grams, starts }: Level, documents: Runs, least: number): (Uint32Array | Uint16Array | null)[] {
    const bounds = this.#mostOf(grams.length, starts, documents);
    const sets = grams.map((_, gram) =>
      (bounds[gram] ?? 0) < Math.max(least, LEAST_OF_SET) ? null : new Uint32Array(SET_WORDS),
    );
    const lists = grams.map((_, gram): number[] | null =>
      sets[gram] !== null || (bounds[gram] ?? 0) < least ? null : [],
    );
    const lineEnds = this.#lineEnds.all();
    for (let line = 0, at = 0; line < lineEnds.length; line += 1) {
      const of = new LineDocuments(documents, line);
      for (const end = lineEnds[line] ?? 0; at < end; at += 1) {
        const gram = starts[at] ?? -1;
        if (gram < 0) continue;
        const set = sets[gram] ?? null;
        if (set !== null) of.addToSet(set);
        else of.addToList(lists[gram] ?? null);
      }
    }
    return grams.map((_, gram) => {
      const [set, list] = [sets[gram] ?? null, lists[gram] ?? null];
      const members = set === null ? [...new Set(list)] : documentsIn(set);
      if (members.length < least) return null;
      return members.length < LEAST_OF_SET ? Uint16Array.from(members).toSorted() : set;
    });
  }

  /** No phrase is in more documents than its lines are together. */
  #mostOf(grams: number, starts: Int32Array, documents: Runs): Uint32Array {
    const lineEnds = this.#lineEnds.all();
    const bounds = new Uint32Array(grams);
    for (let line = 0, at = 0; line < lineEnds.length; line += 1) {
      const count = (documents.ends[line] ?? 0) - (documents.ends[line - 1] ?? 0);
      for (const end = lineEnds[line] ?? 0; at < end; at += 1) {
        const gram = starts[at] ?? -1;
        if (gram >= 0) bounds[gram] = (bounds[gram] ?? 0) + count;
      }
    }
    return bounds;
  }

  /** Phrases of so many common words and one of these ends; without a context the ends alone. */
  #followed(context: Level | null, length: number, { texts, ofWord }: PhraseEnds): Level {
    const ids = new Map<number, number>();
    const grams: string[] = [];
    const words = this.#words.all();
    const starts = new Int32Array(words.length).fill(-1);
    const lineEnds = this.#lineEnds.all();
    for (let line = 0, at = 0; line < lineEnds.length; line += 1) {
      const end = lineEnds[line] ?? 0;
      for (; at + length < end; at += 1) {
        const before = context === null ? 0 : (context.starts[at] ?? -1);
        const last = ofWord[words[at + length] ?? 0] ?? -1;
        if (before < 0 || last < 0) continue;
        const key = before * texts.length + last;
        let id = ids.get(key);
        if (id === undefined) {
          const written = context === null ? '' : `${context.grams[before] ?? ''} `;
          id = grams.push(written + (texts[last] ?? '')) - 1;
          ids.set(key, id);
        }
        starts[at] = id;
      }
      at = end;
    }
    return { grams, starts };
  }
}

/** The documents that have a line. */
class LineDocuments {
  readonly #values: Int32Array;
  readonly #begin: number;
  readonly #end: number;
  #set: Uint32Array | null = null;

  constructor({ ends, values }: Runs, line: number) {
    this.#values = values;
    this.#begin = ends[line - 1] ?? 0;
    this.#end = ends[line] ?? 0;
  }

  addToList(list: number[] | null): void {
    for (let at = this.#begin; at < this.#end; at += 1) list?.push(this.#values[at] ?? 0);
  }

  addToSet(set: Uint32Array): void {
    if (this.#end - this.#begin < MANY) return this.#addEach(set);
    if (this.#set === null) {
      this.#set = new Uint32Array(SET_WORDS);
      this.#addEach(this.#set);
    }
    for (let word = 0; word < SET_WORDS; word += 1) set[word] = (set[word] ?? 0) | (this.#set[word] ?? 0);
  }

  #addEach(set: Uint32Array): void {
    for (let at = this.#begin; at < this.#end; at += 1) {
      const document = this.#values[at] ?? 0;
      const word = document >>> 5;
      set[word] = (set[word] ?? 0) | (1 << (document & 31));
    }
  }
}

/** Whole numbers that are added to. */
class NumberList {
  #values = new Int32Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const longer = new Int32Array(2 * this.#length);
      longer.set(this.#values);
      this.#values = longer;
    }
    this.#values[this.#length] = value;
    this.#length += 1;
  }

  /** All of them; not to be written to. */
  all(): Int32Array {
    return this.#values.subarray(0, this.#length);
  }

  clear(): void {
    this.#values = new Int32Array(1024);
    this.#length = 0;
  }
}

/** Marks the documents of a block that a stored set or list has, among all documents by number. */
export function markMembers(bits: Uint32Array, block: number, stored: Buffer): void {
  const first = block * SET_WORDS;
  if (stored.byteLength === SET_BYTES) {
    for (let word = 0; word < SET_WORDS; word += 1)
      bits[first + word] = (bits[first + word] ?? 0) | stored.readUInt32LE(4 * word);
    return;
  }
  for (let at = 0; at < stored.byteLength; at += 2) {
    const place = stored.readUInt16LE(at);
    const word = first + (place >>> 5);
    bits[word] = (bits[word] ?? 0) | (1 << (place & 31));
  }
}

function push(phrases: BlockPhrase[], gram: string, members: Uint32Array | Uint16Array | null): void {
  if (members !== null) phrases.push({ gram, members: bytesOf(members) });
}

function bytesOf(members: Uint32Array | Uint16Array): Buffer {
  const bytes = Buffer.allocUnsafe(members.byteLength);
  for (const [index, member] of members.entries()) {
    if (members.BYTES_PER_ELEMENT === 4) bytes.writeUInt32LE(member, 4 * index);
    else bytes.writeUInt16LE(member, 2 * index);
  }
  return bytes;
}

/** Documents of a list; 0 of a set. */
function listLength(members: Uint32Array | Uint16Array | null): number {
  return members instanceof Uint16Array ? members.length : 0;
}

function documentsIn(set: Uint32Array): number[] {
  const documents: number[] = [];
  for (const [word, bits] of set.entries()) {
    for (let rest = bits; rest !== 0; rest &= rest - 1)
      documents.push(word * 32 + 31 - Math.clz32(rest & -rest));
  }
  return documents;
}

/** Numbers, −1 in place of those that do not count. */
function kept(numbers: Int32Array, counts: (number: number) => boolean): Int32Array {
  return numbers.map((number) => (number >= 0 && counts(number) ? number : -1));
}
