import type Database from 'better-sqlite3';
import { recordOf } from '../domain/table.ts';
import { createRetention, KEEP_REASONS, type KeepReason, type RetentionOptions } from './retention.ts';
import { type RewriteReport, rewriteSegment } from './rewrite.ts';

/** To write a segment anew for less would not be worth it. */
const LEAST_SAVING = 0.03;

/** What a compacted segment came to, and how many episodes keep their steps for which reason. */
export interface CompactionReport extends RewriteReport {
  readonly reasons: Readonly<Record<KeepReason, number>>;
}

export interface CompactionOptions extends Omit<RetentionOptions, 'pinned'> {
  /** Looks up what is pinned: at the last moment, so that a pin that comes in the middle of it counts. */
  readonly pinned: () => ReadonlySet<string>;
  /** Lets others have the thread; resolves to false to give up. */
  readonly breathe: () => Promise<boolean>;
  /** Only segments of lower numbers are looked at; absent: all that are closed. */
  readonly before?: number;
}

/** Segments that have been compacted. Looks at every row: to be asked once. */
export function compactedSegments(database: Database.Database): Set<number> {
  return new Set(
    database.prepare<[], number>('SELECT DISTINCT segment FROM episodes WHERE length = 0').pluck().all(),
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
  let reasons = recordOf(KEEP_REASONS, () => 0);
  const dropped = new Set<string>();
  const report = await rewriteSegment(database, directory, number, {
    breathe: options.breathe,
    leastSaving: LEAST_SAVING,
    decide: (episodes) => {
      reasons = recordOf(KEEP_REASONS, () => 0);
      dropped.clear();
      const keepFor = createRetention(episodes, { ...options, pinned: options.pinned() });
      return (episode) => {
        const reason = keepFor(episode);
        if (reason !== null) {
          reasons[reason] += 1;
          return 'keep';
        }
        dropped.add(episode.id);
        return 'drop';
      };
    },
    isRight: () => ![...options.pinned()].some((id) => dropped.has(id)),
  });
  return report === null ? null : { ...report, reasons };
}
