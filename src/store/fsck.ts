import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { errorText, LabError } from '../domain/error.ts';
import { episodeIdSchema, episodeSequence } from '../domain/id.ts';
import { archivedSequences } from './archive-files.ts';
import { findBlockProblem } from './columns/block-writer.ts';
import { openDatabase, openDatabaseReadOnly } from './database.ts';
import { reconcile } from './reconcile.ts';
import { hasUnsettledRewrites, readStubs, settleRewrites } from './rewrite.ts';
import { lockRun, type RunPaths } from './run-directory.ts';
import { partsOf, scanSegment, segmentName, segmentNumbers } from './segment.ts';
import { storeError } from './store-error.ts';
import { checkText, type TextReport } from './text-repair.ts';

/** What one segment holds. Records are counted when their checksum is right. */
export interface SegmentReport {
  readonly name: string;
  readonly bytes: number;
  readonly records: number;
  readonly episodes: number;
  /** Stretches that hold no whole record: whatever was there is lost. */
  readonly damage: readonly { readonly offset: number; readonly length: number }[];
}

export interface FsckReport {
  readonly segments: readonly SegmentReport[];
  /** Different episodes that are there, those whose steps were dropped too. */
  readonly episodes: number;
  /** What is wrong with the index; null when it says what the segments hold. */
  readonly indexProblem: string | null;
  /** The index was made anew. */
  readonly rebuilt: boolean;
  /** Of the text index; null for a run that has none. */
  readonly text: TextReport | null;
}

export interface FsckOptions {
  readonly repair: boolean;
  /** Whether the run is to have a text index; true by default. */
  readonly text?: boolean;
}

/**
 * Checks every record of a run against its checksum, and the index against the segments; with `repair`, makes a new index
 * when the old one is wrong and cuts off a torn last record. Segments are otherwise never changed. Takes the run's lock:
 * throws `run-locked` while it is live. Without `repair` it can look at a read-only file system too.
 */
export function checkRun(paths: RunPaths, options: FsckOptions): FsckReport {
  const lock = options.repair ? lockRun(paths) : lockToLook(paths);
  try {
    if (lock !== null) settle(paths);
    const sequences = new Set<number>();
    const segments = segmentNumbers(paths.segments).map((number) => checkSegment(paths, number, sequences));
    for (const sequence of archivedSequences(paths.segments)) sequences.add(sequence);
    const indexProblem = findIndexProblem(paths, sequences, segments);
    const rebuilt = options.repair && indexProblem !== null;
    if (rebuilt) rebuildIndex(paths);
    // It follows the index of episodes, and cannot be taken on while that one is wrong.
    const canRepair = options.repair && (indexProblem === null || rebuilt);
    const text = options.text === false ? null : checkText(paths, canRepair);
    return { segments, episodes: sequences.size, indexProblem, rebuilt, text };
  } catch (thrown) {
    throw storeError(thrown, 'check the run', paths.root);
  } finally {
    lock?.release();
  }
}

/** As `lockRun`; null where nothing can be written: nobody else writes there either. */
function lockToLook(paths: RunPaths): ReturnType<typeof lockRun> | null {
  try {
    return lockRun(paths);
  } catch (thrown) {
    if (thrown instanceof LabError && thrown.code === 'run-unwritable') return null;
    throw thrown;
  }
}

/** A rewrite that a crash interrupted would look like damage. */
function settle(paths: RunPaths): void {
  if (!hasUnsettledRewrites(paths.segments) || !existsSync(paths.database)) return;
  const database = openDatabase(paths.database);
  try {
    settleRewrites(database, paths.segments);
  } finally {
    database.close();
  }
}

const episodeHeaderSchema = z.looseObject({ id: episodeIdSchema });

function checkSegment(paths: RunPaths, number: number, sequences: Set<number>): SegmentReport {
  const damage: { offset: number; length: number }[] = [];
  let records = 0;
  let episodes = 0;
  for (const stretch of scanSegment(paths.segments, number)) {
    if (stretch.type === 'damage') {
      damage.push({ offset: stretch.offset, length: stretch.length });
      continue;
    }
    records += 1;
    if (stretch.record.kind === 'stubs') {
      for (const { id } of readStubs(stretch.record)) sequences.add(episodeSequence(id));
    }
    for (const { kind, header } of partsOf(stretch.record)) {
      if (kind !== 'episode') continue;
      episodes += 1;
      const parsed = episodeHeaderSchema.safeParse(header);
      if (parsed.success) sequences.add(episodeSequence(parsed.data.id));
    }
  }
  const name = segmentName(number);
  return { name, bytes: statSync(join(paths.segments, name)).size, records, episodes, damage };
}

function findIndexProblem(
  paths: RunPaths,
  sequences: ReadonlySet<number>,
  segments: readonly SegmentReport[],
): string | null {
  if (!existsSync(paths.database)) return 'it is missing';
  let database: Database.Database;
  try {
    database = openDatabaseReadOnly(paths.database);
  } catch (thrown) {
    if (thrown instanceof LabError && thrown.code === 'run-too-new') throw thrown;
    return `it cannot be opened: ${errorText(thrown)}`;
  }
  try {
    const found = database.prepare<[], string>('PRAGMA integrity_check(1)').pluck().get();
    if (found !== 'ok') return `it is damaged: ${String(found)}`;
    return compareRows(database, sequences, segments);
  } catch (thrown) {
    return `it cannot be read: ${errorText(thrown)}`;
  } finally {
    database.close();
  }
}

function compareRows(
  database: Database.Database,
  sequences: ReadonlySet<number>,
  segments: readonly SegmentReport[],
): string | null {
  const indexed = database.prepare<[], number>('SELECT sequence FROM episodes').pluck().all();
  const known = new Set(indexed);
  const differences = [
    {
      what: 'it lacks',
      which: 'that the segments hold',
      sequences: [...sequences].filter((one) => !known.has(one)),
    },
    {
      what: 'it has',
      which: 'that the segments do not hold',
      sequences: indexed.filter((one) => !sequences.has(one)),
    },
  ].filter((difference) => difference.sequences.length > 0);
  if (differences.length > 0) {
    return differences
      .map(({ what, which, sequences: listed }) => `${what} ${describeEpisodes(listed)} ${which}`)
      .join(', and ');
  }
  const seen = database
    .prepare<[], number>('SELECT coalesce(sum(indexed_bytes), 0) FROM segments')
    .pluck()
    .get();
  const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0);
  return seen === bytes ? findBlockProblem(database) : `it has seen ${String(seen)} bytes of ${bytes}`;
}

/** Episodes that are named one by one. */
const NAMED = 5;

/** `e7`, or `12 episodes (e1, e2, e3, e4, e5, …)`. */
function describeEpisodes(sequences: readonly number[]): string {
  const named = sequences.slice(0, NAMED).map((sequence) => `e${sequence}`);
  if (sequences.length === 1) return named.join('');
  if (sequences.length > NAMED) named.push('…');
  return `${sequences.length} episodes (${named.join(', ')})`;
}

/** Beside the old index, then in its place: a crash leaves one or the other. */
function rebuildIndex(paths: RunPaths): void {
  const rebuilt = `${paths.database}.rebuilt`;
  removeDatabase(rebuilt);
  const database = openDatabase(rebuilt);
  try {
    reconcile(database, paths.segments);
  } finally {
    database.close();
  }
  // A write-ahead log left beside it would be applied to the new index.
  for (const suffix of ['-wal', '-shm']) rmSync(paths.database + suffix, { force: true });
  renameSync(rebuilt, paths.database);
}

function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}
