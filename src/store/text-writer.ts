import type Database from 'better-sqlite3';
import { LabError } from '../domain/error.ts';
import { isBeingReplaced } from './rewrite.ts';
import type { RunPaths } from './run-directory.ts';
import {
  partsOf,
  type RecordPlace,
  readRecordAt,
  type ScannedStretch,
  type StoredRecord,
  scanSegment,
} from './segment.ts';
import { SequenceSet } from './sequence-set.ts';
import {
  LINE_BREAK,
  openTextDatabase,
  readTextState,
  removeTextDatabase,
  type TextState,
  writeTextState,
} from './text-database.ts';
import { documentOf, type TextDocument } from './text-document.ts';
import { BLOCK, BlockGrams } from './text-grams.ts';
import { type ArchivedRecord, lookAtIndex, unknownArchived } from './text-source.ts';

/** How far the index is behind the segments. */
export interface TextProgress {
  readonly documents: number;
  readonly behindBytes: number;
}

/** Bytes of a segment that are read at once. */
const WINDOW = 1 << 20;
/** A transaction takes in at most so many documents. */
const MOST_PENDING = 4096;
/** Words that are remembered to be in the table already. */
const MOST_KNOWN_WORDS = 200_000;

const MOVE_PENDING = `
  INSERT INTO text (rowid, words) SELECT document + 1, words FROM pending ORDER BY document;
  DELETE FROM pending;
`;

type Place = TextState['end'];

/**
 * Follows a run's segments and makes their text searchable, in `text.db`. The one writer of it; a process of its own beside
 * that of the run, or `fsck`. Only what the index of episodes has is taken: what a crash leaves beyond it may be cut off.
 * Everything that was added since the last `commit` is lost with the process, and added again by the next.
 *
 * Segments may be compacted and archived meanwhile. What was read is known by the number of each document's episode, and how far
 * it is by the newest document, whose place the index of episodes knows: where that has moved within the segment that is being
 * read, the segment is read again from its beginning, without what is known. Archived episodes that are not known come first.
 */
export class TextIndexWriter {
  readonly #paths: RunPaths;
  readonly #database: Database.Database;
  readonly #insert: Database.Statement<[number, string]>;
  readonly #insertWord: Database.Statement<[string]>;
  readonly #known = new Set<string>();
  #committed: TextState;
  #state: TextState;
  #grams = this.#newBlock();
  /** Sequences of the unfinished block's documents, and of all. */
  #sequences: number[] = [];
  readonly #indexed = new SequenceSet();
  readonly #isKnown = (sequence: number): boolean => this.#indexed.has(sequence);
  /** Archived episodes to be added, those from `#nextArchived` on. */
  readonly #archived: readonly ArchivedRecord[];
  #nextArchived = 0;
  #archivedBytes: number;

  constructor(paths: RunPaths) {
    this.#paths = paths;
    this.#database = openSound(paths);
    this.#insert = this.#database.prepare('INSERT INTO pending (document, words) VALUES (?, ?)');
    this.#insertWord = this.#database.prepare('INSERT OR IGNORE INTO words (word) VALUES (?)');
    this.#committed = readTextState(this.#database);
    this.#state = this.#committed;
    this.#readBlocks();
    this.#archived = unknownArchived(paths, this.#isKnown);
    this.#archivedBytes = this.#archived.reduce((sum, { place }) => sum + place.length, 0);
  }

  /** Documents that are added and not yet committed. */
  get pending(): number {
    return this.#state.documents - this.#committed.documents;
  }

  /** Adds what there is, for about so many ms; commits a full transaction. Returns how far it is. */
  add(ms: number): TextProgress {
    const until = performance.now() + ms;
    const ends = this.#look();
    let goesOn = this.#addArchived(until);
    while (goesOn && distance(ends, this.#state.end) > 0) goesOn = this.#addWindow(ends, until);
    const behindBytes = this.#archivedBytes + distance(ends, this.#state.end);
    return { documents: this.#state.documents, behindBytes };
  }

  /** Makes what was added last. */
  commit(): void {
    if (!this.#database.inTransaction) return;
    this.#database
      .prepare('INSERT OR REPLACE INTO blocks (block, sequences) VALUES (?, ?)')
      .run(Math.floor(this.#state.documents / BLOCK), bytesOf(this.#sequences));
    writeTextState(this.#database, this.#state);
    this.#database.exec('COMMIT');
    this.#committed = this.#state;
  }

  /** Closes without what was not committed. */
  close(): void {
    this.#database.close();
  }

  /** How far each segment is in the index of episodes. Where the newest document has moved, its segment was written anew. */
  #look(): ReadonlyMap<number, number> {
    const { last, end } = this.#state;
    const { ends, place } = lookAtIndex(this.#paths, last);
    if (last === null || place === null || isSamePlace(last, place)) return ends;
    const again = last.segment === end.segment ? { segment: end.segment, offset: 0 } : end;
    this.#state = { ...this.#state, last: { ...last, ...place }, end: again };
    // Readers look through what follows `end` themselves: they are to know of it with the next commit, documents or not.
    this.#begin();
    return ends;
  }

  /** Adds what was archived before it was indexed, as all of it is for an index made anew; false when the time is up. */
  #addArchived(until: number): boolean {
    for (; this.#nextArchived < this.#archived.length; this.#nextArchived += 1) {
      if (performance.now() >= until) return false;
      const archived = this.#archived[this.#nextArchived];
      if (archived === undefined) continue;
      this.#archivedBytes -= archived.place.length;
      const record = readArchived(archived);
      const document = record === null ? null : documentOf(record, this.#isKnown);
      if (document !== null) this.#add(document, archived.place);
      this.#commitFull();
    }
    return true;
  }

  /** Adds from one stretch of a segment; false when the time is up. */
  #addWindow(ends: ReadonlyMap<number, number>, until: number): boolean {
    const { segment, offset } = this.#state.end;
    const end = ends.get(segment) ?? 0;
    if (offset >= end) {
      const next = [...ends.keys()].find((number) => number > segment);
      if (next !== undefined) this.#moveTo({ segment: next, offset: 0 });
      return next !== undefined;
    }
    // Its file is not what the index of episodes speaks of: the next look will do.
    if (isBeingReplaced(this.#paths.segments, segment)) return false;
    for (const stretch of committedStretches(this.#paths.segments, segment, offset, end)) {
      this.#take(segment, stretch);
      if (performance.now() >= until) return false;
    }
    // Bytes that are gone from under the index of episodes are for its own repair.
    return this.#state.end.offset > offset;
  }

  #take(segment: number, stretch: ScannedStretch): void {
    const { offset, length } = stretch;
    const end = { segment, offset: offset + length };
    this.#moveTo(end);
    for (const record of stretch.type === 'record' ? partsOf(stretch.record) : []) {
      const document = documentOf(record, this.#isKnown);
      if (document !== null) this.#add(document, { segment, offset, length });
    }
    this.#commitFull();
  }

  #add(document: TextDocument, place: RecordPlace): void {
    this.#begin();
    this.#index(document);
    const { sequence, startedAt } = document;
    const documents = this.#state.documents + 1;
    this.#state = { ...this.#state, documents, last: { sequence, startedAt, ...place } };
    if (documents % BLOCK === 0) this.#closeBlock();
  }

  /** Never between the episodes of one record: how far the index is, it says by records. */
  #commitFull(): void {
    if (this.pending >= MOST_PENDING) this.commit();
  }

  #begin(): void {
    if (!this.#database.inTransaction) this.#database.exec('BEGIN IMMEDIATE');
  }

  #moveTo(end: Place): void {
    this.#state = { ...this.#state, end };
  }

  #index({ sequence, lines }: TextDocument): void {
    this.#insert.run(this.#state.documents, this.#grams.add(lines).join(` ${LINE_BREAK} `));
    this.#sequences.push(sequence);
    this.#indexed.add(sequence);
  }

  #newBlock(): BlockGrams {
    return new BlockGrams((word) => this.#addWord(word));
  }

  #addWord(word: string): void {
    if (this.#known.has(word)) return;
    if (this.#known.size >= MOST_KNOWN_WORDS) this.#known.clear();
    this.#known.add(word);
    this.#insertWord.run(word);
  }

  #closeBlock(): void {
    const block = this.#state.documents / BLOCK - 1;
    this.#database.exec(MOVE_PENDING);
    const insert = this.#database.prepare('INSERT INTO common (gram, block, members) VALUES (?, ?, ?)');
    const { phrases, complete, begun } = this.#grams.common();
    for (const { gram, members } of phrases) insert.run(gram, block, members);
    this.#database
      .prepare('INSERT OR REPLACE INTO blocks (block, sequences, complete, begun) VALUES (?, ?, ?, ?)')
      .run(block, bytesOf(this.#sequences), complete, begun);
    this.#grams = this.#newBlock();
    this.#sequences = [];
  }

  /** Notes all documents again, and the words of the unfinished block's: they were added by a process that is gone. */
  #readBlocks(): void {
    const blocks = this.#database
      .prepare<[], Buffer>('SELECT sequences FROM blocks ORDER BY block')
      .pluck()
      .all()
      .map(sequencesOf);
    for (const sequence of blocks.flat()) this.#indexed.add(sequence);
    const unfinished = this.#state.documents % BLOCK;
    if (unfinished > 0) this.#sequences = blocks.at(-1) ?? [];
    const pending = this.#database
      .prepare<[], string>('SELECT words FROM pending ORDER BY document')
      .pluck()
      .iterate();
    for (const words of pending) {
      // They were added with the document, and cannot be while its table is read.
      for (const word of words.split(' ')) this.#known.add(word);
      // Words are words again when taken from what was made of them.
      this.#grams.add(words.split(` ${LINE_BREAK} `));
    }
  }
}

/** The index, made anew if its newest document is not in the run: segments were cut back, or another run's are in their place. */
function openSound(paths: RunPaths): Database.Database {
  const database = openTextDatabase(paths.text);
  const { last } = readTextState(database);
  if (last === null || lookAtIndex(paths, last).place !== null) return database;
  database.close();
  removeTextDatabase(paths.text);
  return openTextDatabase(paths.text);
}

function isSamePlace(one: RecordPlace, other: RecordPlace): boolean {
  return one.segment === other.segment && one.offset === other.offset && one.length === other.length;
}

/** Null where it cannot be read: its file may be elsewhere. It is looked for again by the next writer. */
function readArchived({ path, place }: ArchivedRecord): StoredRecord | null {
  try {
    return readRecordAt(path, place);
  } catch (thrown) {
    if (thrown instanceof LabError) return null;
    throw thrown;
  }
}

/** The stretches of a segment between two records' ends, read a window at a time. */
function* committedStretches(
  directory: string,
  segment: number,
  from: number,
  to: number,
): Generator<ScannedStretch> {
  let offset = from;
  let window = WINDOW;
  while (offset < to) {
    const before = offset;
    for (const stretch of scanSegment(directory, segment, offset, Math.min(to, offset + window))) {
      // Cut off by the window's end, unless it is that of the segment.
      if (stretch.type === 'damage' && stretch.reachesEnd && before + window < to) break;
      yield stretch;
      offset = stretch.offset + stretch.length;
    }
    if (offset === before && before + window >= to) return;
    window = offset === before ? window * 2 : WINDOW;
  }
}

function distance(ends: ReadonlyMap<number, number>, { segment, offset }: Place): number {
  let bytes = 0;
  for (const [number, end] of ends) {
    if (number === segment) bytes += Math.max(0, end - offset);
    else if (number > segment) bytes += end;
  }
  return bytes;
}

/** Sequences as they are stored: u32, little endian. */
function bytesOf(sequences: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(4 * sequences.length);
  for (const [index, sequence] of sequences.entries()) bytes.writeUInt32LE(sequence, 4 * index);
  return bytes;
}

function sequencesOf(bytes: Buffer): number[] {
  return Array.from({ length: bytes.byteLength / 4 }, (_, index) => bytes.readUInt32LE(4 * index));
}
