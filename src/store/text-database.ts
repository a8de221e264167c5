import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { systemErrorCode } from '../domain/error.ts';
import { isDamagedDatabase } from './store-error.ts';

/** Stands between the lines of a document: in no word, so that no phrase reaches from one line into the next. */
export const LINE_BREAK = '\ue000';
/** `user_version` of the schema below. Another one is thrown away and built anew. */
const VERSION = 4;

/**
 * Documents are numbered in the order of the segments, from 0; `text` has them under their number + 1. The tokenizer only
 * cuts at spaces: words are made by text-words.ts. Those of the unfinished block stand in `pending` as they are: FTS5 would
 * take longer to find where they begin than it takes to read them. `common` holds, by block of 4096 documents, the words that many of
 * them have, and the phrases of such words, up to `blocks.complete` of them all that occur, and up to `blocks.begun`
 * those with an open end that go on in other words. What is not told by these, `text`
 * knows. Everything moves on together with `state`.
 */
const SCHEMA = `
  CREATE VIRTUAL TABLE text USING fts5(words, content='', columnsize=0, tokenize='ascii');
  CREATE TABLE pending (document INTEGER PRIMARY KEY, words TEXT NOT NULL) STRICT;
  CREATE TABLE words (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE common (
    gram TEXT NOT NULL,
    block INTEGER NOT NULL,
    members BLOB NOT NULL,
    PRIMARY KEY (gram, block)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE blocks (
    block INTEGER PRIMARY KEY,
    sequences BLOB NOT NULL,
    complete INTEGER NOT NULL DEFAULT 0,
    begun INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), json TEXT NOT NULL) STRICT;
  PRAGMA user_version = ${VERSION};
`;

/** Those that hold anything, `text_…` being where FTS5 keeps its own. */
const TABLES = ['text_data', 'text_idx', 'pending', 'words', 'common', 'blocks', 'state'];

const placeSchema = z.object({ segment: z.int().nonnegative(), offset: z.int().nonnegative() });

const stateSchema = z.object({
  /** Documents indexed. */
  documents: z.int().nonnegative(),
  /** Everything before this is indexed: segments of lower numbers are never read again, whatever becomes of them. */
  end: placeSchema,
  /**
   * The newest document: which execution it is, and where its record was when last looked for (segment −n: archive file n).
   * Null before the first.
   */
  last: z
    .object({
      sequence: z.int().positive(),
      startedAt: z.number(),
      segment: z.int(),
      offset: z.int().nonnegative(),
      length: z.int().nonnegative(),
    })
    .nullable(),
});
/** How far a text index reaches. */
export type TextState = Readonly<z.infer<typeof stateSchema>>;

const BEGINNING: TextState = {
  documents: 0,
  end: { segment: 0, offset: 0 },
  last: null,
};

/** Opens a text index to write; makes it if it is missing, and anew if it is damaged or of another version. */
export function openTextDatabase(path: string): Database.Database {
  try {
    return open(path);
  } catch (thrown) {
    if (!isDamagedDatabase(thrown)) throw thrown;
    removeTextDatabase(path);
    return open(path);
  }
}

/** Removes a text index: it is made anew from the segments. */
export function removeTextDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}

/** Opens a text index to read; null when there is none, or none that can be used. */
export function openTextDatabaseReadOnly(path: string): Database.Database | null {
  let database: Database.Database | null = null;
  try {
    database = new Database(path, { readonly: true, fileMustExist: true, timeout: 1000 });
    if (Number(database.pragma('user_version', { simple: true })) === VERSION) return database;
  } catch (thrown) {
    database?.close();
    const code = systemErrorCode(thrown) ?? '';
    if (isDamagedDatabase(thrown) || code.startsWith('SQLITE_')) return null;
    throw thrown;
  }
  database.close();
  return null;
}

/** Reads how far the index reaches. */
export function readTextState(database: Database.Database): TextState {
  const json = database.prepare<[], string>('SELECT json FROM state').pluck().get();
  return json === undefined ? BEGINNING : stateSchema.parse(JSON.parse(json));
}

/** Writes it; the caller holds the transaction. */
export function writeTextState(database: Database.Database, state: TextState): void {
  database.prepare('INSERT OR REPLACE INTO state (id, json) VALUES (1, ?)').run(JSON.stringify(state));
}

function open(path: string): Database.Database {
  const database = new Database(path, { timeout: 5000 });
  try {
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = NORMAL');
    database.pragma('journal_size_limit = 16777216');
    const version = Number(database.pragma('user_version', { simple: true }));
    if (version === VERSION && isSound(database)) return database;
    if (version === 0) {
      database.transaction(() => database.exec(SCHEMA)).immediate();
      return database;
    }
  } catch (thrown) {
    database.close();
    throw thrown;
  }
  database.close();
  removeTextDatabase(path);
  return open(path);
}

function isSound(database: Database.Database): boolean {
  try {
    // Table by table: for the whole database FTS5 would go through every word, which takes 7 s of 1,000,000 episodes.
    if (TABLES.some((table) => database.pragma(`quick_check(${table})`, { simple: true }) !== 'ok'))
      return false;
    readTextState(database);
    return true;
  } catch (thrown) {
    if (thrown instanceof z.ZodError || thrown instanceof SyntaxError) return false;
    throw thrown;
  }
}
