import { archivePath, readArchiveFiles } from './archive-files.ts';
import { openDatabaseReadOnly } from './database.ts';
import type { RunPaths } from './run-directory.ts';
import type { RecordPlace } from './segment.ts';

/** What the index of episodes says at one moment. */
export interface IndexLook {
  /** How far each segment is indexed, by number, ascending. */
  readonly ends: ReadonlyMap<number, number>;
  /**
   * Where the record of the execution asked for is now: it moves when its segment is compacted or archived (segment −n is archive
   * file n, length 0 says that its steps were dropped). Null when the index has no such execution.
   */
  readonly place: RecordPlace | null;
}

/** An execution of an episode: its number alone may be given out again after a power failure. */
export interface Execution {
  readonly sequence: number;
  readonly startedAt: number;
}

/** Looks into a run's index of episodes. Throws as `openDatabaseReadOnly`. */
export function lookAtIndex(paths: RunPaths, execution: Execution | null): IndexLook {
  const database = openDatabaseReadOnly(paths.database);
  try {
    const segments = database.prepare<[], { number: number; indexed_bytes: number }>(
      'SELECT number, indexed_bytes FROM segments ORDER BY number',
    );
    const placed = database.prepare<[number, number], RecordPlace>(
      'SELECT segment, offset, length FROM episodes WHERE sequence = ? AND started_at = ?',
    );
    return database.transaction(() => ({
      ends: new Map(segments.all().map((row) => [row.number, row.indexed_bytes])),
      place: execution === null ? null : (placed.get(execution.sequence, execution.startedAt) ?? null),
    }))();
  } finally {
    database.close();
  }
}

/** An episode's record in an archive file. */
export interface ArchivedRecord {
  readonly path: string;
  readonly place: RecordPlace;
}

/** The archived episodes that are not known yet, file by file in the order of their records. */
export function unknownArchived(
  paths: RunPaths,
  isKnown: (sequence: number) => boolean,
): readonly ArchivedRecord[] {
  const files = new Map(
    readArchiveFiles(paths.segments).map((file) => [-file.number, archivePath(paths.segments, file)]),
  );
  if (files.size === 0) return [];
  const database = openDatabaseReadOnly(paths.database);
  try {
    const rows = database
      .prepare<[], RecordPlace & { sequence: number }>(
        'SELECT sequence, segment, offset, length FROM episodes WHERE segment < 0 ORDER BY segment DESC, offset',
      )
      .iterate();
    const found: ArchivedRecord[] = [];
    for (const { sequence, ...place } of rows) {
      const path = files.get(place.segment);
      if (path !== undefined && !isKnown(sequence)) found.push({ path, place });
    }
    return found;
  } finally {
    database.close();
  }
}
