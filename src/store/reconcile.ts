import { statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { systemErrorCode } from '../domain/error.ts';
import { indexArchive } from './archive-files.ts';
import { rebuildBlocks } from './columns/block-writer.ts';
import { prepareIndexRows } from './index-rows.ts';
import { settleRewrites } from './rewrite.ts';
import {
  partsOf,
  type ScannedStretch,
  type StoredRecord,
  scanSegment,
  segmentName,
  segmentNumbers,
} from './segment.ts';

/** What had to be put right between segments and index. All zero after a clean end. */
export interface StoreRepair {
  /** Episodes and other records found in segments that the index lacked. */
  readonly reindexed: number;
  /** Index rows whose bytes are gone. */
  readonly dropped: number;
  /** Half-written records cut off the end of the newest segment, and their bytes. */
  readonly torn: number;
  readonly tornBytes: number;
  /** Damaged stretches, and episodes and records that are not as agreed, passed over among the records not yet indexed. */
  readonly damaged: number;
}

type Tally = { -readonly [Name in keyof StoreRepair]: number };

/**
 * Makes the index say what the segments hold, in one transaction: adds records that it lacks, drops rows whose bytes are
 * gone, cuts a torn record off the newest segment. Costs one look at each segment's size when nothing is amiss.
 */
export function reconcile(database: Database.Database, directory: string): StoreRepair {
  settleRewrites(database, directory);
  const tally: Tally = { reindexed: 0, dropped: 0, torn: 0, tornBytes: 0, damaged: 0 };
  database
    .transaction(() => {
      const indexed = indexedBytes(database);
      const numbers = segmentNumbers(directory);
      for (const [number] of indexed) {
        if (!numbers.includes(number)) tally.dropped += dropRows(database, number, 0);
      }
      for (const number of numbers) {
        reconcileSegment(database, directory, tally, {
          number,
          indexed: indexed.get(number) ?? 0,
          newest: number === numbers.at(-1),
        });
      }
      tally.reindexed += indexArchive(database, directory);
      if (tally.dropped > 0) rebuildBlocks(database);
    })
    .immediate();
  return tally;
}

interface SegmentState {
  readonly number: number;
  /** Bytes that the index says it has seen. */
  readonly indexed: number;
  readonly newest: boolean;
}

function reconcileSegment(
  database: Database.Database,
  directory: string,
  tally: Tally,
  segment: SegmentState,
): void {
  const { number, indexed, newest } = segment;
  const path = join(directory, segmentName(number));
  const size = statSync(path).size;
  if (size === indexed) return;
  if (size < indexed) tally.dropped += dropRows(database, number, size);
  const rows = prepareIndexRows(database);
  const from = size < indexed ? lastEnd(database, number) : indexed;
  let end = size;
  for (const stretch of scanSegment(directory, number, from)) {
    if (stretch.type === 'damage' && stretch.reachesEnd && newest) {
      truncateSync(path, stretch.offset);
      tally.torn += 1;
      tally.tornBytes += stretch.length;
      end = stretch.offset;
    } else if (stretch.type === 'damage') {
      tally.damaged += 1;
    } else if (stretch.offset >= indexed) {
      for (const record of partsOf(stretch.record)) count(tally, addRecord(rows, number, record, stretch));
    }
  }
  rows.indexedTo(number, end);
}

type Added = 'added' | 'known' | 'refused';

function addRecord(
  rows: ReturnType<typeof prepareIndexRows>,
  segment: number,
  record: StoredRecord,
  { offset, length }: Pick<ScannedStretch, 'offset' | 'length'>,
): Added {
  try {
    return rows.record(record, { segment, offset, length }) ? 'added' : 'known';
  } catch (thrown) {
    // A record that breaks the agreed shape, or the index's rules, must not keep the rest from being read.
    if (isRefusal(thrown)) return 'refused';
    throw thrown;
  }
}

function isRefusal(thrown: unknown): boolean {
  return thrown instanceof z.ZodError || (systemErrorCode(thrown) ?? '').startsWith('SQLITE_CONSTRAINT');
}

function count(tally: Tally, added: Added): void {
  if (added === 'added') tally.reindexed += 1;
  else if (added === 'refused') tally.damaged += 1;
}

function indexedBytes(database: Database.Database): Map<number, number> {
  const rows = database
    .prepare<[], { number: number; indexed_bytes: number }>('SELECT number, indexed_bytes FROM segments')
    .all();
  return new Map(rows.map((row) => [row.number, row.indexed_bytes]));
}

/** Removes the episodes of a segment that end after `size`; returns how many. */
function dropRows(database: Database.Database, segment: number, size: number): number {
  if (size === 0) database.prepare('DELETE FROM segments WHERE number = ?').run(segment);
  return database.prepare('DELETE FROM episodes WHERE segment = ? AND offset + length > ?').run(segment, size)
    .changes;
}

/** Where the last episode that the index has of a segment ends. */
function lastEnd(database: Database.Database, segment: number): number {
  const end = database
    .prepare<[number], number | null>('SELECT max(offset + length) FROM episodes WHERE segment = ?')
    .pluck()
    .get(segment);
  return end ?? 0;
}
