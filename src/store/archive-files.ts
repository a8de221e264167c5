import { statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { LabError } from '../domain/error.ts';
import { episodeIdSchema, episodeSequence } from '../domain/id.ts';
import { writeFileAtomic } from './atomic-file.ts';
import { prepareIndexRows } from './index-rows.ts';
import { readJsonFile } from './json-file.ts';
import { scanFile } from './segment.ts';
import { reasonText } from './store-error.ts';

/** A file that episodes were moved to. In the index, `segment` of an episode in file n is −n. */
const archiveFileSchema = z.object({
  number: z.int().positive(),
  /** Relative to the run's directory where it lies inside of it. */
  path: z.string(),
  bytes: z.int().nonnegative(),
  episodes: z.int().positive(),
});
export type ArchiveFile = Readonly<z.infer<typeof archiveFileSchema>>;

const headerSchema = z.looseObject({ id: episodeIdSchema });

const listSchema = z.object({ files: z.array(archiveFileSchema) });

/** The archive files of the run whose segments lie in a directory, by number. Throws `store-failed` for a damaged list. */
export function readArchiveFiles(segments: string): ArchiveFile[] {
  const hint = 'restore it from a copy: it says where the archived episodes are';
  return readJsonFile(listPath(segments), listSchema, hint)?.files ?? [];
}

/** Replaces the list, on the disk when this returns. */
export function writeArchiveFiles(segments: string, files: readonly ArchiveFile[]): void {
  writeFileAtomic(listPath(segments), `${JSON.stringify({ files }, null, 2)}\n`);
}

/** How a path is written into the list. */
export function listedPath(segments: string, path: string): string {
  const inside = relative(dirname(segments), path);
  return inside.startsWith('..') || isAbsolute(inside) ? path : inside;
}

/** Where a listed file lies. */
export function archivePath(segments: string, file: ArchiveFile): string {
  return isAbsolute(file.path) ? file.path : join(dirname(segments), file.path);
}

/** Bytes of the archive files that lie in the directory of the run; those that are gone count as none. Throws as `readArchiveFiles`. */
export function archivedBytesInside(segments: string): number {
  return readArchiveFiles(segments)
    .filter((file) => !isAbsolute(file.path))
    .reduce(
      (sum, file) => sum + (statSync(archivePath(segments, file), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
}

/** The file with a number. Throws `segment-corrupt` when the list has none. */
export function archivePathOf(segments: string, number: number): string {
  const file = readArchiveFiles(segments).find((one) => one.number === number);
  if (file !== undefined) return archivePath(segments, file);
  throw new LabError('segment-corrupt', {
    message: `${listPath(segments)} knows no archive file ${number}, where the index says that the episode is`,
    hint: 'restore that list from a copy',
  });
}

/**
 * Adds rows for archived episodes that the index lacks, as it does when it is made anew; returns how many. Throws
 * `store-failed` where an archive file that is needed cannot be read: its rows would be lost.
 */
export function indexArchive(database: Database.Database, segments: string): number {
  const count = database.prepare<[number], number>('SELECT count(*) FROM episodes WHERE segment = ?').pluck();
  let added = 0;
  for (const file of readArchiveFiles(segments)) {
    if ((count.get(-file.number) ?? 0) >= file.episodes) continue;
    const rows = prepareIndexRows(database);
    for (const stretch of scanArchive(archivePath(segments, file))) {
      if (stretch.type !== 'record') continue;
      const { offset, length, record } = stretch;
      if (rows.record(record, { segment: -file.number, offset, length })) added += 1;
    }
  }
  return added;
}

/** Sequences of all archived episodes whose records are whole. Throws as `indexArchive`. */
export function archivedSequences(segments: string): number[] {
  return readArchiveFiles(segments).flatMap((file) =>
    [...scanArchive(archivePath(segments, file))].flatMap((stretch) => {
      if (stretch.type === 'damage') return [];
      return [episodeSequence(headerSchema.parse(stretch.record.header).id)];
    }),
  );
}

function scanArchive(path: string): ReturnType<typeof scanFile> {
  try {
    return scanFile(path);
  } catch (thrown) {
    throw new LabError('store-failed', {
      message: `the archive file ${path} cannot be read: ${reasonText(thrown)}`,
      hint: 'mount or restore it first: the index is made from it',
      cause: thrown,
    });
  }
}

function listPath(segments: string): string {
  return join(segments, 'archive.json');
}
