import type Database from 'better-sqlite3';
import { recordOf } from '../domain/table.ts';
import { openDatabase } from './database.ts';
import { reconcile } from './reconcile.ts';
import { createRetention, KEEP_REASONS, type KeepReason } from './retention.ts';
import { type RewriteReport, rewriteSegment } from './rewrite.ts';
import { lockRun, type RunPaths } from './run-directory.ts';
import { segmentNumbers } from './segment.ts';
import { storeError } from './store-error.ts';

/** What a compacted segment came to, and how many episodes keep their steps for which reason. */
export interface CompactionReport extends RewriteReport {
  readonly reasons: Readonly<Record<KeepReason, number>>;
}

export interface CompactionOptions {
  /** Share of the episodes that nobody else asks for whose steps are kept, in [0, 1]. */
  readonly keepSample: number;
  readonly pinned: ReadonlySet<string>;
  /** Lets others have the thread; resolves to false to give up. */
  readonly breathe: () => Promise<boolean>;
}

/** Segments that may be compacted, oldest first: all before `open`, and not those that have been. */
export function compactableSegments(
  database: Database.Database,
  directory: string,
  open: number | null,
): number[] {
  const isCompacted = database
    .prepare<[number], number>('SELECT 1 FROM episodes WHERE segment = ? AND length = 0 LIMIT 1')
    .pluck();
  return segmentNumbers(directory).filter(
    (number) => (open === null || number < open) && isCompacted.get(number) === undefined,
  );
}

/**
 * Drops the steps of a segment's episodes that no tier of the retention keeps; their index rows, and their summaries in the
 * segment, stay. Null when nothing could be saved. Throws as `rewriteSegment`.
 */
export async function compactSegment(
  database: Database.Database,
  directory: string,
  number: number,
  options: CompactionOptions,
): Promise<CompactionReport | null> {
  const reasons = recordOf(KEEP_REASONS, () => 0);
  const report = await rewriteSegment(database, directory, number, {
    breathe: options.breathe,
    decide: (episodes) => {
      const keepFor = createRetention(episodes, options);
      return (episode) => {
        const reason = keepFor(episode);
        if (reason === null) return 'drop';
        reasons[reason] += 1;
        return 'keep';
      };
    },
  });
  return report === null ? null : { ...report, reasons };
}

/**
 * Compacts every segment of a run that is not live. Takes the run's lock: throws `run-locked` while it is live.
 */
export async function compactRun(paths: RunPaths, options: CompactionOptions): Promise<CompactionReport[]> {
  const lock = lockRun(paths);
  try {
    const database = openDatabase(paths.database);
    try {
      reconcile(database, paths.segments);
      const reports: CompactionReport[] = [];
      for (const number of compactableSegments(database, paths.segments, null)) {
        const report = await compactSegment(database, paths.segments, number, options);
        if (report !== null) reports.push(report);
      }
      return reports;
    } finally {
      database.close();
    }
  } catch (thrown) {
    throw storeError(thrown, 'compact the run', paths.root);
  } finally {
    lock.release();
  }
}
