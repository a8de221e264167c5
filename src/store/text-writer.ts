import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { systemErrorCode } from '../domain/error.ts';
import { openDatabaseReadOnly } from './database.ts';
import type { RunPaths } from './run-directory.ts';
import { type ScannedStretch, scanSegment, segmentName } from './segment.ts';
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
import { wordsOf } from './text-words.ts';

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
/** Lines whose words are remembered, and characters of such a line. */
const MOST_KNOWN_LINES = 20_000;
const LONGEST_KNOWN_LINE = 500;

const MOVE_PENDING = `
  INSERT INTO text (rowid, words) SELECT document + 1, words FROM pending ORDER BY document;
  DELETE FROM pending;
`;

type Place = TextState['end'];

/**
 * Follows a run's segments and makes their text searchable, in `text.db`. The one writer of it; a process of its own beside
 * that of the run, or `fsck`. Only what the index of episodes has is taken: what a crash leaves beyond it may be cut off.
 * Everything that was added since the last `commit` is lost with the process, and added again by the next.
 */
export class TextIndexWriter {
  readonly #paths: RunPaths;
  readonly #database: Database.Database;
  readonly #insert: Database.Statement<[number, string]>;
  readonly #insertWord: Database.Statement<[string]>;
  readonly #known = new Set<string>();
  /** The words of lines, as they are indexed: lines occur again and again. */
  readonly #lines = new Map<string, string>();
  #committed: TextState;
  #state: TextState;
  #grams = new BlockGrams();
  /** Sequences of the unfinished block's documents. */
  #sequences: number[] = [];

  constructor(paths: RunPaths) {
    this.#paths = paths;
    this.#database = openSound(paths);
    this.#insert = this.#database.prepare('INSERT INTO pending (document, words) VALUES (?, ?)');
    this.#insertWord = this.#database.prepare('INSERT OR IGNORE INTO words (word) VALUES (?)');
    this.#committed = readTextState(this.#database);
    this.#state = this.#committed;
    this.#readBlock();
  }

  /** Documents that are added and not yet committed. */
  get pending(): number {
    return this.#state.documents - this.#committed.documents;
  }

  /** Adds what there is, for about so many ms; commits a full transaction. Returns how far it is. */
  add(ms: number): TextProgress {
    const until = performance.now() + ms;
    const ends = this.#ends();
    let behindBytes = distance(ends, this.#state.end);
    while (behindBytes > 0 && this.#addWindow(ends, until)) behindBytes = distance(ends, this.#state.end);
    return { documents: this.#state.documents, behindBytes: distance(ends, this.#state.end) };
  }

  /** Makes what was added last. */
  commit(): void {
    if (!this.#database.inTransaction) return;
    this.#database
      .prepare('INSERT OR REPLACE INTO blocks (block, sequences) VALUES (?, ?)')
      .run(Math.floor(this.#state.documents / BLOCK), bytesOf(this.#sequences));
    const { last } = this.#state;
    if (last !== null)
      this.#state = { ...this.#state, last: { ...last, checksum: checksumAt(this.#paths, last) } };
    writeTextState(this.#database, this.#state);
    this.#database.exec('COMMIT');
    this.#committed = this.#state;
  }

  /** Closes without what was not committed. */
  close(): void {
    this.#database.close();
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
    for (const stretch of committedStretches(this.#paths.segments, segment, offset, end)) {
      this.#take(segment, stretch);
      if (performance.now() >= until) return false;
    }
    // Bytes that are gone from under the index of episodes are for its own repair.
    return this.#state.end.offset > offset;
  }

  #take(segment: number, stretch: ScannedStretch): void {
    const end = { segment, offset: stretch.offset + stretch.length };
    const document = stretch.type === 'record' ? documentOf(stretch.record) : null;
    if (document === null) {
      this.#moveTo(end);
      return;
    }
    if (!this.#database.inTransaction) this.#database.exec('BEGIN IMMEDIATE');
    this.#index(document);
    // The checksum is read for the commit.
    const last = { segment, offset: stretch.offset, length: stretch.length, checksum: 0 };
    const documents = this.#state.documents + 1;
    this.#state = { ...this.#state, documents, end, last };
    if (documents % BLOCK === 0) this.#closeBlock();
    if (this.pending >= MOST_PENDING) this.commit();
  }

  #moveTo(end: Place): void {
    const atBlockStart = this.#grams.size === 0;
    this.#state = { ...this.#state, end, block: atBlockStart ? end : this.#state.block };
  }

  #index({ sequence, lines }: TextDocument): void {
    const text = lines.map((line) => this.#wordsOf(line)).join(` ${LINE_BREAK} `);
    this.#insert.run(this.#state.documents, text);
    this.#note(sequence, lines);
  }

  #wordsOf(line: string): string {
    const known = this.#lines.get(line);
    if (known !== undefined) return known;
    const words = wordsOf(line);
    for (const word of words) this.#addWord(word);
    const text = words.join(' ');
    if (this.#lines.size >= MOST_KNOWN_LINES) this.#lines.clear();
    if (line.length <= LONGEST_KNOWN_LINE) this.#lines.set(line, text);
    return text;
  }

  #note(sequence: number, lines: readonly string[]): void {
    this.#grams.add(lines);
    this.#sequences.push(sequence);
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
    for (const { gram, members } of this.#grams.common()) insert.run(gram, block, members);
    this.#database
      .prepare('INSERT OR REPLACE INTO blocks (block, sequences) VALUES (?, ?)')
      .run(block, bytesOf(this.#sequences));
    this.#grams = new BlockGrams();
    this.#sequences = [];
    this.#state = { ...this.#state, block: this.#state.end };
  }

  /** Notes the documents of the unfinished block again: they were added by a process that is gone. */
  #readBlock(): void {
    const { block, end, documents } = this.#state;
    const wanted = documents % BLOCK;
    for (let segment = block.segment; segment <= end.segment && this.#grams.size < wanted; segment++) {
      const from = segment === block.segment ? block.offset : 0;
      const to = segment === end.segment ? end.offset : Number.POSITIVE_INFINITY;
      for (const stretch of committedStretches(this.#paths.segments, segment, from, to)) {
        const document = stretch.type === 'record' ? documentOf(stretch.record) : null;
        if (document !== null) this.#note(document.sequence, document.lines);
      }
    }
  }

  /** How far each segment is in the index of episodes, by number, ascending. */
  #ends(): ReadonlyMap<number, number> {
    const database = openDatabaseReadOnly(this.#paths.database);
    try {
      const rows = database
        .prepare<[], { number: number; indexed_bytes: number }>(
          'SELECT number, indexed_bytes FROM segments ORDER BY number',
        )
        .all();
      return new Map(rows.map((row) => [row.number, row.indexed_bytes]));
    } finally {
      database.close();
    }
  }
}

/** The index, made anew if it is not of these segments: they were cut back, or another run's were put in their place. */
function openSound(paths: RunPaths): Database.Database {
  const database = openTextDatabase(paths.text);
  const { last } = readTextState(database);
  if (last === null || checksumAt(paths, last) === last.checksum) return database;
  database.close();
  removeTextDatabase(paths.text);
  return openTextDatabase(paths.text);
}

/** The checksum that stands in a record's prefix; −1 where there is none. */
function checksumAt(paths: RunPaths, { segment, offset }: Place): number {
  const bytes = Buffer.alloc(4);
  try {
    const file = openSync(join(paths.segments, segmentName(segment)), 'r');
    try {
      return readSync(file, bytes, 0, 4, offset + 12) === 4 ? bytes.readUInt32LE(0) : -1;
    } finally {
      closeSync(file);
    }
  } catch (thrown) {
    if (systemErrorCode(thrown) === 'ENOENT') return -1;
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
