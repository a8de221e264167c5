import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { z } from 'zod';
import { type EpisodeSummary, episodeSummarySchema } from '../domain/episode.ts';
import { LabError } from '../domain/error.ts';
import {
  type ArchiveFile,
  archivePath,
  listedPath,
  readArchiveFiles,
  writeArchiveFiles,
} from '../store/archive-files.ts';
import { type EndedStore, withEndedRun } from '../store/ended-run.ts';
import type { RunPaths } from '../store/run-directory.ts';
import {
  encodeEpisodes,
  inflateBody,
  partsOf,
  type RecordPlace,
  type StoredRecord,
  scanFile,
  scanSegment,
  segmentNumbers,
} from '../store/segment.ts';
import { storeError } from '../store/store-error.ts';
import { FileOutput } from './byte-output.ts';
import { episodeColumns } from './episode-tables.ts';
import { parquetTable } from './parquet-table.ts';
import type { TableColumn } from './table.ts';

export interface ArchiveOptions {
  readonly run: string;
  /** The directory to write `run=…` into. */
  readonly to: string;
  /** Called after each segment with how many are done, of how many. */
  readonly onProgress: (done: number, total: number) => void;
}

export interface ArchiveReport {
  readonly files: readonly string[];
  readonly episodes: number;
  /** Segments that are damaged: what can be read of them was archived, the damaged bytes stay in them. */
  readonly damaged: readonly number[];
}

/** Iterations in one directory. */
const BAND = 100;

interface Archived {
  readonly summary: EpisodeSummary;
  /** A whole record: the one that stood in the segment, or its own if that was of several episodes. */
  readonly record: Uint8Array;
}

/**
 * Moves the episodes of a run that is not live into Parquet files, `run=ID/iterations=0000-0099/part-000001.parquet`. Their
 * summaries are columns; the column `record` holds each one's record byte by byte, not compressed again, so that it can be
 * read from its place in the file like one of a segment. A file is read back, and every record in it compared, before the
 * segment is written anew without them; what is damaged stays in it, byte by byte. A crash at any time leaves each episode in one place or in both. Throws `run-locked`
 * while the run is live, `disk-full` or `run-unwritable` where the directory cannot be written.
 */
export async function archiveRun(paths: RunPaths, options: ArchiveOptions): Promise<ArchiveReport> {
  return await withEndedRun(paths, 'archive the run', async (store) => {
    forgetUnused(store, paths.segments);
    const report = { files: [] as string[], episodes: 0, damaged: [] as number[] };
    const numbers = segmentNumbers(paths.segments);
    for (const [done, number] of numbers.entries()) {
      const { episodes, isDamaged } = readEpisodes(store, paths.segments, number);
      if (isDamaged) report.damaged.push(number);
      if (episodes.length > 0) {
        const places = new Map<string, RecordPlace>();
        for (const band of bandsOf(episodes)) {
          report.files.push(await archiveBand(paths.segments, band, { ...options, places }));
        }
        await moveAway(store, number, places);
        report.episodes += episodes.length;
      }
      options.onProgress(done + 1, numbers.length);
    }
    return report;
  });
}

/** Files that a crash left listed before anything had moved there: whatever is in them is in a segment too. */
function forgetUnused(store: EndedStore, segments: string): void {
  const files = readArchiveFiles(segments);
  const used = files.filter(({ number }) => store.isUsed(-number));
  if (used.length === files.length) return;
  writeArchiveFiles(segments, used);
  for (const file of files) if (!used.includes(file)) rmSync(archivePath(segments, file), { force: true });
}

/** The episodes of a segment that have their steps in it, as far as it can be read. */
function readEpisodes(
  store: EndedStore,
  segments: string,
  number: number,
): { readonly episodes: Archived[]; readonly isDamaged: boolean } {
  const episodes: Archived[] = [];
  let isDamaged = false;
  for (const stretch of scanSegment(segments, number)) {
    if (stretch.type === 'damage') {
      isDamaged = true;
      continue;
    }
    const { record, offset, bytes } = stretch;
    for (const part of partsOf(record)) {
      if (part.kind !== 'episode') continue;
      const summary = episodeSummarySchema.parse(part.header);
      if (!store.isAt(summary.id, { segment: number, offset })) continue;
      episodes.push({ summary, record: part === record ? bytes : recordOfItsOwn(part) });
    }
  }
  return { episodes, isDamaged };
}

/** Of an episode that stood in a group. */
function recordOfItsOwn(part: StoredRecord): Buffer {
  return Buffer.concat(
    encodeEpisodes([{ header: z.looseObject({}).parse(part.header), body: inflateBody(part) }]).chunks,
  );
}

function bandsOf(episodes: readonly Archived[]): Archived[][] {
  const bands = new Map<number, Archived[]>();
  for (const episode of episodes) {
    const band = Math.floor(episode.summary.iteration / BAND);
    const episodesOf = bands.get(band) ?? [];
    episodesOf.push(episode);
    bands.set(band, episodesOf);
  }
  return [...bands.values()];
}

async function archiveBand(
  segments: string,
  episodes: readonly Archived[],
  { run, to, places }: ArchiveOptions & { readonly places: Map<string, RecordPlace> },
): Promise<string> {
  const files = readArchiveFiles(segments);
  const number = Math.max(0, ...files.map((file) => file.number)) + 1;
  const first = Math.floor((episodes[0]?.summary.iteration ?? 0) / BAND) * BAND;
  const band = `${digits(first, 4)}-${digits(first + BAND - 1, 4)}`;
  const path = join(to, `run=${run}`, `iterations=${band}`, `part-${digits(number, 6)}.parquet`);
  await writePart(path, episodes);
  const found = await verifyPart(path, episodes);
  for (const [id, { offset, length }] of found) places.set(id, { segment: -number, offset, length });
  const file: ArchiveFile = {
    number,
    path: listedPath(segments, path),
    bytes: readFileSync(path).byteLength,
    episodes: episodes.length,
  };
  writeArchiveFiles(segments, [...files, file]);
  return path;
}

/** The directory says the run and the band: they are no columns, as readers add them. */
const COLUMNS: readonly TableColumn<Archived>[] = [
  ...episodeColumns('')
    .filter(({ name }) => name !== 'run')
    .map(({ name, type, value }): TableColumn<Archived> => {
      return { name, type, value: ({ summary }) => value(summary) };
    }),
  { name: 'record', type: 'bytes', value: ({ record }) => record },
];

async function writePart(path: string, episodes: readonly Archived[]): Promise<void> {
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (thrown) {
    throw storeError(thrown, 'make the archive directory', dirname(path));
  }
  // One that is there already was never listed: a crash left it.
  const output = new FileOutput(path, { replace: true });
  try {
    const table = parquetTable(COLUMNS, output);
    for (const episode of episodes) table.write(episode);
    table.close();
    await output.finish();
  } finally {
    output.abandon();
  }
}

/** Reads a part back, as Parquet and as records, and says where each record stands. Throws `store-failed` for any difference. */
async function verifyPart(
  path: string,
  episodes: readonly Archived[],
): Promise<Map<string, { offset: number; length: number }>> {
  const found = new Map<string, { offset: number; length: number }>();
  const wanted = new Map(episodes.map(({ summary, record }) => [summary.id as string, record]));
  for (const stretch of scanFile(path)) {
    if (stretch.type === 'damage') continue;
    const { id } = episodeSummarySchema.parse(stretch.record.header);
    const same = Buffer.compare(wanted.get(id) ?? Buffer.alloc(0), stretch.bytes) === 0;
    if (same) found.set(id, { offset: stretch.offset, length: stretch.length });
  }
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path), columns: ['id'] });
  const isWhole =
    found.size === episodes.length &&
    rows.length === episodes.length &&
    episodes.every(({ summary }, index) => rows[index]?.['id'] === summary.id);
  if (isWhole) return found;
  throw new LabError('store-failed', {
    message: `${path} reads back other than it was written: ${found.size} of ${episodes.length} records are right`,
    hint: 'nothing was deleted; check the disk, or name another directory with --to',
  });
}

async function moveAway(
  store: EndedStore,
  number: number,
  places: ReadonlyMap<string, RecordPlace>,
): Promise<void> {
  await store.rewrite(number, {
    breathe: async () => await Promise.resolve(true),
    decide: () => (episode) => places.get(episode.id) ?? 'keep',
    leastSaving: 0,
    // Nothing is lost that somebody may yet make sense of, and one rotten byte does not keep the rest.
    keepsDamage: true,
  });
}

function digits(value: number, width: number): string {
  return String(value).padStart(width, '0');
}
