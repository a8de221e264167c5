import { existsSync, renameSync } from 'node:fs';
import type Database from 'better-sqlite3';
import type { EpisodeSummary } from '../domain/episode.ts';
import { LabError } from '../domain/error.ts';
import { episodeSequence } from '../domain/id.ts';
import type { Evaluation, IterationMetrics, KnobChange, RunEvent } from '../domain/run.ts';
import { healBlocks } from './columns/block-writer.ts';
import {
  type CompactionOptions,
  type CompactionReport,
  compactedSegments,
  compactSegment,
} from './compact.ts';
import { openDatabase } from './database.ts';
import { type IndexRows, type LogEntry, parseEntry, prepareIndexRows } from './index-rows.ts';
import { reconcile, type StoreRepair } from './reconcile.ts';
import { type GroupedEpisode, groupsOf } from './record-group.ts';
import type { RunPaths } from './run-directory.ts';
import {
  type EncodedRecord,
  encodeEpisodes,
  encodeRecord,
  SEGMENT_BYTES,
  SegmentAppender,
  segmentNumbers,
} from './segment.ts';
import { isDamagedDatabase, reasonText, storeError } from './store-error.ts';

/** An episode to store. `body` is UTF-8 JSON of an `EpisodeBody`; it is not looked into here. */
export interface FinishedEpisode {
  readonly summary: EpisodeSummary;
  /** The summary as JSON, if that is there already. */
  readonly json?: Uint8Array | undefined;
  readonly body: Uint8Array;
}

/** Sums over a run. The first three count training episodes only. */
export interface RunTotals {
  readonly episodes: number;
  readonly envSteps: number;
  readonly voidEpisodes: number;
  /** Highest dispatch number of any stored episode; 0 before the first. */
  readonly lastSequence: number;
  /** Highest iteration with metrics; 0 before the first. */
  readonly lastIteration: number;
}

/**
 * The one writer of a run's segments and index. Each call is all or nothing, and in the operating system's hands when it
 * returns (a killed process loses nothing; against a power failure, `sync`). Throws `disk-full`, `run-unwritable` or
 * `store-failed`; the store can be used on afterwards.
 */
export interface RunStore {
  /** What was put right when the store was opened. */
  readonly repair: StoreRepair;
  /** An episode whose id is stored already is ignored and not counted. */
  appendEpisodes(batch: readonly FinishedEpisode[]): void;
  appendIteration(metrics: IterationMetrics): void;
  appendEvaluation(evaluation: Evaluation): void;
  appendEvent(event: RunEvent): void;
  appendKnobChange(change: KnobChange): void;
  totals(): RunTotals;
  /** Compacts the oldest closed segment that gives anything; null when none does. Not to be called again meanwhile. */
  compactOldest(options: CompactionOptions): Promise<CompactionReport | null>;
  /** Forces the segment to the disk. */
  sync(): void;
  /** Forces everything to the disk and closes. */
  close(): void;
}

export interface RunStoreOptions {
  /** Size at which a new segment is begun; SEGMENT_BYTES by default. */
  readonly segmentBytes?: number;
  /** Rows of a block of the index's columns; BLOCK_ROWS by default. */
  readonly blockRows?: number;
}

/**
 * Opens a run's store to write. Creates or migrates the index; puts right what a crash left (`repair`); a damaged index is
 * moved to `lab.db.damaged` and made anew from the segments. The caller holds the run's lock.
 */
export function openRunStore(paths: RunPaths, options: RunStoreOptions = {}): RunStore {
  try {
    return new SegmentedStore(paths, options);
  } catch (thrown) {
    if (!(thrown instanceof LabError && isDamagedDatabase(thrown.cause))) throw thrown;
    moveAside(paths.database);
    return new SegmentedStore(paths, options);
  }
}

class SegmentedStore implements RunStore {
  readonly repair: StoreRepair;
  readonly #database: Database.Database;
  readonly #segments: SegmentAppender;
  readonly #rows: IndexRows;
  readonly #directory: string;
  /** Segments of which nothing more can be dropped; null before they were looked for. The others, failures thinned. */
  #compacted: Set<number> | null = null;
  readonly #thinned = new Set<number>();
  #totals: RunTotals;

  constructor(paths: RunPaths, { segmentBytes = SEGMENT_BYTES, blockRows }: RunStoreOptions) {
    const database = openDatabase(paths.database);
    this.#directory = paths.segments;
    try {
      this.repair = reconcile(database, paths.segments);
      healBlocks(database);
      this.#rows = prepareIndexRows(database, blockRows);
      this.#totals = readTotals(database);
      this.#segments = new SegmentAppender(paths.segments, segmentBytes);
      this.#database = database;
    } catch (thrown) {
      database.close();
      throw storeError(thrown, 'open the store', paths.root);
    }
  }

  appendEpisodes(batch: readonly FinishedEpisode[]): void {
    const given = batch.map(({ summary, json, body }) => ({ header: summary, json, body }));
    const groups = groupsOf(given).map((episodes) => ({ episodes, record: encodeEpisodes(episodes) }));
    const records = groups.map(({ record }) => record);
    let totals = this.#totals;
    this.#commit(records, (segment, start) => {
      const written: EncodedRecord[] = [];
      let offset = start;
      for (const { episodes, record } of groups) {
        const added = episodes.filter(({ header }) =>
          this.#rows.episode(header, { segment, offset, length: record.length }),
        );
        for (const { header } of added) totals = addEpisode(totals, header);
        if (added.length === 0) continue;
        const kept = added.length === episodes.length ? record : this.#withoutKnown(added);
        written.push(kept);
        offset += kept.length;
      }
      return written;
    });
    this.#totals = totals;
  }

  appendIteration(metrics: IterationMetrics): void {
    this.#appendEntry('iteration', metrics);
    const lastIteration = Math.max(this.#totals.lastIteration, metrics.iteration);
    this.#totals = { ...this.#totals, lastIteration };
  }

  appendEvaluation(evaluation: Evaluation): void {
    this.#appendEntry('evaluation', evaluation);
  }

  appendEvent(event: RunEvent): void {
    this.#appendEntry('event', event);
  }

  appendKnobChange(change: KnobChange): void {
    this.#appendEntry('knob', change);
  }

  totals(): RunTotals {
    return this.#totals;
  }

  async compactOldest(options: CompactionOptions): Promise<CompactionReport | null> {
    const breathe = async (): Promise<boolean> => (await options.breathe()) && this.#database.open;
    this.#compacted ??= compactedSegments(this.#database);
    const spent = options.thinFailures === true ? this.#thinned : this.#compacted;
    for (const number of segmentNumbers(this.#directory)) {
      if (number >= Math.min(this.#segments.number, options.before ?? Infinity)) break;
      if (spent.has(number)) continue;
      const report = await compactSegment(this.#database, this.#directory, number, { ...options, breathe });
      if (!this.#database.open) return report;
      spent.add(number);
      if (report !== null) return report;
    }
    return null;
  }

  /** The record of those of a group that were not stored before; sent again after a crash, as few are. */
  #withoutKnown(added: readonly (GroupedEpisode & { readonly header: EpisodeSummary })[]): EncodedRecord {
    const record = encodeEpisodes(added);
    for (const { header } of added) this.#rows.setLength(header.id, record.length);
    return record;
  }

  sync(): void {
    try {
      this.#segments.sync();
    } catch (thrown) {
      throw storeError(thrown, 'force the segment to the disk', this.#segments.path);
    }
  }

  close(): void {
    if (!this.#database.open) return;
    try {
      this.sync();
    } finally {
      this.#segments.close();
      this.#database.close();
    }
  }

  #appendEntry(kind: LogEntry['kind'], value: LogEntry['value']): void {
    const entry = checked(kind, value);
    const record = encodeRecord(kind, entry.value);
    this.#commit([record], () => {
      this.#rows.entry(entry);
      return [record];
    });
  }

  /**
   * Rows first, so that what the index refuses is never written; then the segment; then the commit. A crash in between
   * leaves records without rows, which the next opening indexes.
   */
  #commit(
    records: readonly EncodedRecord[],
    addRows: (segment: number, offset: number) => readonly EncodedRecord[],
  ): void {
    const bytes = records.reduce((sum, record) => sum + record.length, 0);
    let start: number | null = null;
    try {
      const { segment, offset } = this.#segments.reserve(bytes);
      start = offset;
      this.#database
        .transaction(() => {
          const written = addRows(segment, offset);
          const size = written.reduce((sum, record) => sum + record.length, 0);
          this.#rows.indexedTo(segment, offset + size);
          this.#segments.append(written);
        })
        .immediate();
    } catch (thrown) {
      this.#rows.undone();
      if (start !== null) this.#cutBack(start);
      throw storeError(thrown, 'write', this.#segments.path);
    }
  }

  #cutBack(offset: number): void {
    try {
      this.#segments.truncate(offset);
    } catch {
      // The first error is the one to report; the bytes left over are overwritten next, or cut off at the next opening.
    }
  }
}

function checked(kind: LogEntry['kind'], value: unknown): LogEntry {
  try {
    return parseEntry(kind, value);
  } catch (thrown) {
    throw new LabError('store-failed', {
      message: `refused to store ${kind}: ${reasonText(thrown)}`,
      hint: 'this is a bug in agentrl-lab: please report it',
      cause: thrown,
    });
  }
}

function addEpisode(totals: RunTotals, summary: EpisodeSummary): RunTotals {
  const training = summary.phase === 'train';
  return {
    episodes: totals.episodes + Number(training),
    envSteps: totals.envSteps + (training ? summary.steps : 0),
    voidEpisodes: totals.voidEpisodes + Number(training && summary.trust === 'void'),
    lastSequence: Math.max(totals.lastSequence, episodeSequence(summary.id)),
    lastIteration: totals.lastIteration,
  };
}

function readTotals(database: Database.Database): RunTotals {
  const totals = database
    .prepare<[], RunTotals>(
      `SELECT count(*) AS episodes,
              coalesce(sum(steps), 0) AS envSteps,
              coalesce(sum(trust = 'void'), 0) AS voidEpisodes,
              coalesce((SELECT max(sequence) FROM episodes), 0) AS lastSequence,
              coalesce((SELECT max(iteration) FROM iterations), 0) AS lastIteration
       FROM episodes WHERE phase = 'train'`,
    )
    .get();
  return totals ?? { episodes: 0, envSteps: 0, voidEpisodes: 0, lastSequence: 0, lastIteration: 0 };
}

/** With its side files: a write-ahead log left behind would be applied to the new database. */
function moveAside(database: string): void {
  for (const suffix of ['', '-wal', '-shm']) {
    if (existsSync(database + suffix)) renameSync(database + suffix, `${database}.damaged${suffix}`);
  }
}
