import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type Database from 'better-sqlite3';
import { LabError } from '../domain/error.ts';
import { isDamagedDatabase, storeError } from './store-error.ts';
import { isListedBeginning } from './text-begun.ts';
import { openTextDatabaseReadOnly, readTextState, type TextState } from './text-database.ts';
import { BLOCK } from './text-grams.ts';
import { BlockLookup, type Stretch } from './text-lookup.ts';
import { TextTail } from './text-tail.ts';
import { type Phrase, phraseOf } from './text-words.ts';

/** Searches what was observed and done in a run's episodes. Each answer is of one moment. */
export interface TextIndex {
  /**
   * Sequences of the episodes that have a quoted text, ascending: its words one after the other in one line that was
   * observed, or in one action, failure detail, failure type, family or tag. Of the newest episodes, which are not indexed
   * yet, the last TAIL_EPISODES are searched all the same. Empty for a text without a letter or digit. Throws
   * `store-failed` when the index turns out to be damaged.
   */
  match(text: string): Uint32Array;
  readonly indexedEpisodes: number;
  close(): void;
}

/** Opens the text index of a run, `text.db` beside its `segments`, to read. Null when there is none that can be used. */
export function openTextIndex(path: string): TextIndex | null {
  const database = openTextDatabaseReadOnly(path);
  if (database === null) return null;
  try {
    return new SearchedText(path, database);
  } catch (thrown) {
    database.close();
    if (isDamagedDatabase(thrown)) return null;
    throw storeError(thrown, 'open the text index', path);
  }
}

/** The first segment of a run that its text index still has to read; null when nothing can be said of it. */
export function firstUnreadSegment(path: string): number | null {
  const database = openTextDatabaseReadOnly(path);
  try {
    return database === null ? null : readTextState(database).end.segment;
  } catch (thrown) {
    if (isDamagedDatabase(thrown)) return null;
    throw thrown;
  } finally {
    database?.close();
  }
}

/** Answers that are kept: lists are asked for page by page, and again with each refresh of a screen. */
const KEPT_ANSWERS = 16;
/** A word that goes on in more ways than this is left to the full-text index; one whose beginning is listed, than that. */
const MOST_COMPLETIONS = 32;
const MOST_LISTED_COMPLETIONS = 2000;
/** Stretches between blocks with a set that are searched one by one. */
const MOST_GAPS = 3;
const WORD_BITS = 32;
/** So many sequences are sorted one by one. */
const FEW = 2000;

/** What is known of a phrase: documents that have it, of those numbered below `documents`. */
interface Answer {
  bits: Uint32Array;
  documents: number;
}

class SearchedText implements TextIndex {
  readonly #path: string;
  readonly #tail: TextTail;
  readonly #answers = new Map<string, Answer>();
  #database: Database.Database;
  #lookup: BlockLookup | null = null;
  /** Which file is open: the index may be made anew. */
  #file: number;
  #state: TextState;
  /** By number of the document; those of the last block may still change. */
  #sequences = new Uint32Array(0);
  /** Words of the unfinished block's documents, and the number of the first of them. */
  readonly #pending: string[] = [];
  #pendingFrom = 0;

  constructor(path: string, database: Database.Database) {
    this.#path = path;
    this.#database = database;
    this.#file = fileNumber(path);
    this.#tail = new TextTail(join(dirname(path), 'segments'));
    this.#state = database.transaction(() => {
      this.#sequences = this.#readSequences(0);
      return readTextState(database);
    })();
  }

  get indexedEpisodes(): number {
    this.#reopen();
    return this.#atOneMoment(() => this.#state.documents);
  }

  match(text: string): Uint32Array {
    const phrase = phraseOf(text);
    if (phrase.words.length === 0) return new Uint32Array(0);
    try {
      this.#reopen();
      const bits = this.#atOneMoment(() => this.#documents(phrase));
      return this.#toSequences(bits, this.#tail.match(this.#state.end, phrase));
    } catch (thrown) {
      if (thrown instanceof LabError) throw thrown;
      throw damagedIndex(this.#path, thrown);
    }
  }

  close(): void {
    this.#database.close();
  }

  /** Whether the index has been made anew shows in its file. */
  #reopen(): void {
    const file = fileNumber(this.#path);
    const fresh = file === this.#file || file === 0 ? null : openTextDatabaseReadOnly(this.#path);
    if (fresh === null) return;
    this.#database.close();
    this.#database = fresh;
    this.#lookup = null;
    this.#file = file;
    this.#answers.clear();
    this.#pending.length = 0;
    this.#state = { ...this.#state, documents: 0 };
    this.#sequences = new Uint32Array(0);
  }

  /** Looks at how far the index is, and answers from that very state of it. */
  #atOneMoment<Value>(answer: () => Value): Value {
    return this.#database.transaction(() => {
      this.#refresh();
      return answer();
    })();
  }

  #refresh(): void {
    const state = readTextState(this.#database);
    if (state.documents === this.#state.documents) return;
    const whole = this.#state.documents - (this.#state.documents % BLOCK);
    this.#state = state;
    const newest = this.#readSequences(whole / BLOCK);
    const sequences = new Uint32Array(whole + newest.length);
    sequences.set(this.#sequences.subarray(0, whole));
    sequences.set(newest, whole);
    this.#sequences = sequences;
  }

  #readSequences(fromBlock: number): Uint32Array<ArrayBuffer> {
    const blobs = this.#database
      .prepare<[number], Buffer>('SELECT sequences FROM blocks WHERE block >= ? ORDER BY block')
      .pluck()
      .all(fromBlock);
    const bytes = Buffer.concat(blobs);
    const sequences = new Uint32Array(bytes.byteLength / 4);
    for (let i = 0; i < sequences.length; i++) sequences[i] = bytes.readUInt32LE(4 * i);
    return sequences;
  }

  /** A bit for each indexed document that has the phrase. What was found before is not looked for again. */
  #documents(phrase: Phrase): Uint32Array {
    const key = `${phrase.words.join(' ')}${phrase.openEnd ? '*' : ''}`;
    const { documents } = this.#state;
    const answer = this.#answers.get(key) ?? { bits: new Uint32Array(0), documents: 0 };
    this.#answers.delete(key);
    if (answer.documents < documents) {
      const bits = new Uint32Array(Math.ceil(documents / WORD_BITS));
      bits.set(answer.bits);
      const whole = documents - (documents % BLOCK);
      if (answer.documents < whole) this.#findAny(phrase, answer.documents, whole, bits);
      this.#scanPending(phrase, whole, bits);
      answer.bits = bits;
      answer.documents = documents;
    }
    this.#answers.set(key, answer);
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= KEPT_ANSWERS) break;
      this.#answers.delete(oldest);
    }
    return answer.bits;
  }

  /** Sets the bits of documents from `from` up to `to`, ends of blocks, that have the phrase, whatever it may go on in. */
  #findAny(phrase: Phrase, from: number, to: number, bits: Uint32Array): void {
    if (!phrase.openEnd) return this.#find(phrase, from, to, bits);
    const context = phrase.words.slice(0, -1);
    const beginning = phrase.words.at(-1) ?? '';
    const isListed = isListedBeginning(beginning);
    const most = isListed ? MOST_LISTED_COMPLETIONS : MOST_COMPLETIONS;
    const goesOn = this.#database
      .prepare<[string, string, number], string>(
        'SELECT word FROM words WHERE word >= ? AND word < ? LIMIT ?',
      )
      .pluck()
      .all(beginning, `${beginning}\u{10ffff}`, most + 1);
    if (goesOn.length > most) return this.#search(phrase, { from, to }, bits);
    if (isListed) {
      this.#lookup ??= new BlockLookup(this.#database);
      const unknown = this.#lookup.findBegun({ context, beginning, goesOn }, { from, to }, bits);
      return this.#searchEach(phrase, unknown, bits);
    }
    for (const word of goesOn) this.#find({ words: [...context, word], openEnd: false }, from, to, bits);
  }

  /** The same for whole words. */
  #find(phrase: Phrase, from: number, to: number, bits: Uint32Array): void {
    this.#lookup ??= new BlockLookup(this.#database);
    this.#searchEach(phrase, this.#lookup.find(phrase.words, { from, to }, bits), bits);
  }

  /** The same by the full-text index, in stretches of documents. */
  #searchEach(phrase: Phrase, unknown: readonly Stretch[], bits: Uint32Array): void {
    const [first, last] = [unknown[0], unknown.at(-1)];
    if (first === undefined || last === undefined) return;
    // To find the beginning of a stretch takes FTS5 so long that few stretches are worth it.
    const stretches = unknown.length > MOST_GAPS ? [{ from: first.from, to: last.to }] : unknown;
    for (const stretch of stretches) this.#search(phrase, stretch, bits);
  }

  /** The same for the unfinished block, by reading it. */
  #scanPending({ words, openEnd }: Phrase, whole: number, bits: Uint32Array): void {
    if (this.#pendingFrom !== whole) {
      this.#pendingFrom = whole;
      this.#pending.length = 0;
    }
    const rows = this.#database
      .prepare<[number], string>('SELECT words FROM pending WHERE document >= ? ORDER BY document')
      .pluck()
      .iterate(whole + this.#pending.length);
    for (const row of rows) this.#pending.push(` ${row} `);
    const wanted = ` ${words.join(' ')}${openEnd ? '' : ' '}`;
    for (const [at, text] of this.#pending.entries()) if (text.includes(wanted)) mark(bits, whole + at);
  }

  #search({ words, openEnd }: Phrase, { from, to }: Stretch, bits: Uint32Array): void {
    const rows = this.#database
      .prepare<[string, number, number], number>(
        'SELECT rowid FROM text WHERE text MATCH ? AND rowid > ? AND rowid <= ?',
      )
      .pluck()
      .all(`"${words.join(' ')}"${openEnd ? ' *' : ''}`, from, to);
    for (const row of rows) mark(bits, row - 1);
  }

  /** Ascending, each once. */
  #toSequences(bits: Uint32Array, more: readonly number[]): Uint32Array {
    const few = this.#few(bits);
    if (few !== null) return Uint32Array.from(new Set([...few, ...more])).toSorted();
    // Marking each in a set of bits sorts them.
    let highest = 0;
    for (const sequence of this.#sequences) if (sequence > highest) highest = sequence;
    for (const sequence of more) if (sequence > highest) highest = sequence;
    const marks = new Uint32Array((highest >>> 5) + 1);
    for (const sequence of more) mark(marks, sequence);
    const sequences = this.#sequences;
    for (let at = 0; at < bits.length; at++) {
      for (let rest = bits[at] ?? 0; rest !== 0; rest &= rest - 1) {
        mark(marks, sequences[at * WORD_BITS + lowestBit(rest)] ?? 0);
      }
    }
    return marked(marks);
  }

  /** The sequences of the documents whose bits are set; null when they are many. */
  #few(bits: Uint32Array): number[] | null {
    const found: number[] = [];
    for (let at = 0; at < bits.length; at++) {
      for (let rest = bits[at] ?? 0; rest !== 0; rest &= rest - 1) {
        if (found.length >= FEW) return null;
        found.push(this.#sequences[at * WORD_BITS + lowestBit(rest)] ?? 0);
      }
    }
    return found;
  }
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}

function mark(marks: Uint32Array, number: number): void {
  const at = number >>> 5;
  marks[at] = (marks[at] ?? 0) | (1 << (number & 31));
}

/** The numbers of the bits that are set, ascending. */
function marked(marks: Uint32Array): Uint32Array {
  const numbers = new Uint32Array(marks.length * WORD_BITS);
  let count = 0;
  for (let at = 0; at < marks.length; at++) {
    for (let rest = marks[at] ?? 0; rest !== 0; rest &= rest - 1) {
      numbers[count++] = at * WORD_BITS + lowestBit(rest);
    }
  }
  return numbers.slice(0, count);
}

/** 0 when it is gone. */
function fileNumber(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}

function damagedIndex(path: string, thrown: unknown): LabError {
  if (!isDamagedDatabase(thrown)) return storeError(thrown, 'search the text index', path);
  return new LabError('store-failed', {
    message: `the text index is damaged (${path})`,
    hint: 'it is made anew when the run goes on, or with: agentrl-lab fsck --repair',
    cause: thrown,
  });
}
