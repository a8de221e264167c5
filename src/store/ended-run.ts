import { existsSync } from 'node:fs';
import type { EpisodeSummary } from '../domain/episode.ts';
import { episodeSequence } from '../domain/id.ts';
import {
  type CompactionOptions,
  type CompactionReport,
  compactedSegments,
  compactSegment,
} from './compact.ts';
import { openDatabase } from './database.ts';
import { reconcile } from './reconcile.ts';
import { type RewriteOptions, type RewriteReport, rewriteSegment } from './rewrite.ts';
import { lockRun, type RunPaths } from './run-directory.ts';
import { type RecordPlace, segmentNumbers } from './segment.ts';
import { storeError } from './store-error.ts';
import { completeText } from './text-repair.ts';

/** The store of a run that is not live, to be put in another order. */
export interface EndedStore {
  /** Whether the index says that an episode's steps are at a place. */
  isAt(id: EpisodeSummary['id'], place: Omit<RecordPlace, 'length'>): boolean;
  /** Whether any episode is in a segment; below 0, in an archive file. Looks at every row. */
  isUsed(segment: number): boolean;
  /** See `rewriteSegment`. */
  rewrite(segment: number, options: RewriteOptions): Promise<RewriteReport | null>;
  /** See `compactSegment`; without those that have been compacted. */
  compactAll(options: CompactionOptions): Promise<CompactionReport[]>;
}

/**
 * Does something to the store of a run that is not live, under its lock; `deed` names it in errors. What a crash left is put
 * right first. Throws `run-locked` while the run is live.
 */
export async function withEndedRun<Result>(
  paths: RunPaths,
  deed: string,
  work: (store: EndedStore) => Promise<Result>,
): Promise<Result> {
  const lock = lockRun(paths);
  try {
    const database = openDatabase(paths.database);
    try {
      reconcile(database, paths.segments);
      // By its number, which has an index: a search for the place would look at every row.
      const placed = database
        .prepare<[number, number], number>('SELECT offset FROM episodes WHERE sequence = ? AND segment = ?')
        .pluck();
      const used = database
        .prepare<[number], number>('SELECT 1 FROM episodes WHERE segment = ? LIMIT 1')
        .pluck();
      return await work({
        isAt: (id, { segment, offset }) => placed.get(episodeSequence(id), segment) === offset,
        isUsed: (segment) => used.get(segment) !== undefined,
        rewrite: async (segment, options) => await rewriteSegment(database, paths.segments, segment, options),
        compactAll: async (options) => {
          const done = compactedSegments(database);
          const reports: CompactionReport[] = [];
          for (const number of segmentNumbers(paths.segments)) {
            if (done.has(number)) continue;
            const report = await compactSegment(database, paths.segments, number, options);
            if (report !== null) reports.push(report);
          }
          return reports;
        },
      });
    } finally {
      database.close();
    }
  } catch (thrown) {
    throw storeError(thrown, deed, paths.root);
  } finally {
    lock.release();
  }
}

/**
 * Compacts every segment of a run that is not live, after its text index, where there is one, has taken in what it lacks: the text
 * of dropped steps is found by it alone. Throws as `withEndedRun`.
 */
export async function compactRun(paths: RunPaths, options: CompactionOptions): Promise<CompactionReport[]> {
  return await withEndedRun(paths, 'compact the run', async (store) => {
    if (existsSync(paths.text)) completeText(paths);
    return await store.compactAll(options);
  });
}
