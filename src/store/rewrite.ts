import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { type EpisodeSummary, episodeSummarySchema } from '../domain/episode.ts';
import { LabError } from '../domain/error.ts';
import { type EpisodeId, episodeIdSchema, episodeSequence } from '../domain/id.ts';
import { syncDirectory } from './atomic-file.ts';
import { GROUP_BYTES, groupsOf, packedBytes } from './record-group.ts';
import {
  encodeEpisodes,
  encodeRecord,
  inflateBody,
  partsIn,
  partsOf,
  type RecordPlace,
  type StoredRecord,
  scanSegment,
  segmentName,
} from './segment.ts';

/** Being written: worth nothing. Verified, and about to take the segment's place. */
const ENDINGS = { writing: '.writing', ready: '.ready' } as const;
/** Summaries without steps are stored so many together: a tenth of what they take one by one. */
const STUBS_TOGETHER = 256;
/** Records between two breaths; each may be of ten episodes and more. */
const BREATH = 40;

/** What becomes of an episode: it stays, its steps are dropped, or it is somewhere else now. */
export type Fate = 'keep' | 'drop' | RecordPlace;

export interface RewriteReport {
  readonly segment: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  readonly kept: number;
  readonly dropped: number;
  readonly moved: number;
}

export interface RewriteOptions {
  /** Is shown all episodes that have their steps here, and says what becomes of each. */
  readonly decide: (episodes: readonly EpisodeSummary[]) => (episode: EpisodeSummary) => Fate;
  /** Whether what `decide` said is still right when all is written; else it is asked again. Absent: it always is. */
  readonly isRight?: () => boolean;
  /** Share of the segment that must be saved at least, in [0, 1). */
  readonly leastSaving: number;
  /** What is damaged is copied as it is; absent, a damaged segment is left alone. */
  readonly keepsDamage?: boolean;
  /** Lets others have the thread between some records; resolves to false to give up. */
  readonly breathe: () => Promise<boolean>;
}

interface Draft {
  /** Kept episodes whose record is not: they become records together. */
  loose: { readonly header: { readonly id: EpisodeId }; readonly body: Buffer }[];
  readonly chunks: Uint8Array[];
  readonly places: Map<number, RecordPlace>;
  readonly tally: { kept: number; dropped: number; moved: number };
  size: number;
}

/**
 * Writes a closed segment anew without the steps, or the episodes, that are not to stay in it; all else is copied byte by byte,
 * but for groups of which a part stays.
 * Crash-safe: the new file is written beside the old one, forced to the disk and read back; then its places are committed to
 * the index, and then it is renamed. `settleRewrites` finishes or forgets what a crash left between. Others have the thread
 * until then; from the last `isRight` to the renaming they have not. Null when given up, when it would save too little, or, unless
 * damage is kept, when the segment is damaged. `fsck` still finds then what it found before.
 */
export async function rewriteSegment(
  database: Database.Database,
  directory: string,
  number: number,
  options: RewriteOptions,
): Promise<RewriteReport | null> {
  const path = join(directory, segmentName(number));
  const bytesBefore = statSync(path).size;
  const found = await readSegment(database, directory, number, options);
  if (found === null) return null;
  try {
    for (;;) {
      const draft = await draftSegment(found, directory, number, options);
      const saved = draft === null ? 0 : bytesBefore - draft.size;
      if (draft === null || saved <= bytesBefore * options.leastSaving) return null;
      if (!(await writeWhole(`${path}${ENDINGS.writing}`, draft, options.breathe))) return null;
      // The last chance to be told to give up: closing the file has let others have the thread.
      if (!(await options.breathe())) return null;
      if (options.isRight?.() === false) continue;
      replaceSegment(database, path, number, draft);
      return { segment: number, bytesBefore, bytesAfter: draft.size, ...draft.tally };
    }
  } finally {
    rmSync(`${path}${ENDINGS.writing}`, { force: true });
  }
}

/** What was written takes the place of the segment, in the index first. */
function replaceSegment(database: Database.Database, path: string, number: number, draft: Draft): void {
  try {
    renameSync(`${path}${ENDINGS.writing}`, `${path}${ENDINGS.ready}`);
    syncDirectory(dirname(path));
    commitPlaces(database, number, draft);
  } catch (thrown) {
    rmSync(`${path}${ENDINGS.ready}`, { force: true });
    throw thrown;
  }
  renameSync(`${path}${ENDINGS.ready}`, path);
  syncDirectory(dirname(path));
}

/** Whether a rewritten segment is about to take the place of the old one: its places are not to be relied on just now. */
export function isBeingReplaced(directory: string, number: number): boolean {
  return (
    statSync(join(directory, segmentName(number) + ENDINGS.ready), { throwIfNoEntry: false }) !== undefined
  );
}

/** Whether a crash left something for `settleRewrites`. */
export function hasUnsettledRewrites(directory: string): boolean {
  return readdirSync(directory).some((name) =>
    Object.values(ENDINGS).some((ending) => name.endsWith(ending)),
  );
}

/**
 * Finishes or forgets rewrites that a crash has interrupted: one whose places the index has is renamed, any other one is
 * deleted, and the old segment stands.
 */
export function settleRewrites(database: Database.Database, directory: string): void {
  const indexed = database
    .prepare<[number], number>('SELECT indexed_bytes FROM segments WHERE number = ?')
    .pluck();
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    if (name.endsWith(ENDINGS.writing)) rmSync(path, { force: true });
    if (!name.endsWith(ENDINGS.ready)) continue;
    // Always smaller than the old one: its size tells which of the two the index speaks of.
    const isIndexed = indexed.get(Number.parseInt(name, 10)) === statSync(path).size;
    if (isIndexed) renameSync(path, path.slice(0, -ENDINGS.ready.length));
    else rmSync(path);
    syncDirectory(directory);
  }
}

const stubsSchema = z.array(episodeSummarySchema);
const headerSchema = z.looseObject({ id: episodeIdSchema });

/** The summaries in a record of kind `stubs`: episodes whose steps were dropped. Throws what zod throws. */
export function readStubs(record: StoredRecord): EpisodeSummary[] {
  return stubsSchema.parse(JSON.parse(inflateBody(record).toString('utf8')));
}

/** A record that counts. */
interface Found {
  readonly offset: number;
  readonly length: number;
  /** Episodes that have their steps in it, and those that have not. */
  readonly whole: readonly EpisodeSummary[];
  readonly stubs: readonly EpisodeSummary[];
  /** There are episodes in it that count elsewhere. */
  readonly hasTwins: boolean;
  /** Of bytes that are no record: what the index has in them. */
  readonly lost: readonly PlacedEpisode[];
}

interface PlacedEpisode {
  readonly sequence: number;
  readonly offset: number;
  readonly length: number;
}

/** All records of a segment that count, or null where it is damaged and shall not be, or the wish to go on is gone. */
async function readSegment(
  database: Database.Database,
  directory: string,
  number: number,
  { breathe, keepsDamage = false }: RewriteOptions,
): Promise<Found[] | null> {
  const placed = database
    .prepare<[number, number], number>('SELECT offset FROM episodes WHERE sequence = ? AND segment = ?')
    .pluck();
  const within = database.prepare<[number, number, number], PlacedEpisode>(
    'SELECT sequence, offset, length FROM episodes WHERE segment = ? AND offset >= ? AND offset < ?',
  );
  const found: Found[] = [];
  let seen = 0;
  for (const stretch of scanSegment(directory, number)) {
    seen += 1;
    if (seen % BREATH === 0 && !(await breathe())) return null;
    const { offset, length } = stretch;
    if (stretch.type === 'damage') {
      if (!keepsDamage) return null;
      const lost = within.all(number, offset, offset + length);
      found.push({ offset, length, whole: [], stubs: [], hasTwins: false, lost });
      continue;
    }
    const { record } = stretch;
    const episodes = partsOf(record)
      .filter(({ kind }) => kind === 'episode')
      .map(({ header }) => episodeSummarySchema.parse(header));
    // One that was sent twice has its row, and its steps, elsewhere.
    const whole = episodes.filter(({ id }) => placed.get(episodeSequence(id), number) === offset);
    const stubs = record.kind === 'stubs' ? readStubs(record) : [];
    if (episodes.length > 0 && whole.length === 0) continue;
    found.push({ offset, length, whole, stubs, hasTwins: whole.length < episodes.length, lost: [] });
  }
  return found;
}

/** Null when the wish to go on is gone. */
async function draftSegment(
  found: readonly Found[],
  directory: string,
  number: number,
  { decide, breathe }: RewriteOptions,
): Promise<Draft | null> {
  const bytes = await readFile(join(directory, segmentName(number)));
  const fateOf = decide(found.flatMap(({ whole }) => whole));
  const draft: Draft = {
    loose: [],
    chunks: [],
    places: new Map(),
    tally: { kept: 0, dropped: 0, moved: 0 },
    size: 0,
  };
  let stubs: EpisodeSummary[] = [];
  for (const [index, record] of found.entries()) {
    if (index % BREATH === BREATH - 1 && !(await breathe())) return null;
    for (const { id } of record.stubs)
      draft.places.set(episodeSequence(id), { segment: number, offset: draft.size, length: 0 });
    for (const { sequence, offset, length } of record.lost) {
      const place = { segment: number, offset: draft.size + offset - record.offset, length };
      draft.places.set(sequence, place);
    }
    const kept: EpisodeSummary[] = [];
    for (const episode of record.whole) {
      const fate = fateOf(episode);
      if (fate === 'keep') kept.push(episode);
      else if (fate === 'drop') stubs.push(episode);
      else draft.places.set(episodeSequence(episode.id), fate);
      draft.tally[fate === 'keep' ? 'kept' : fate === 'drop' ? 'dropped' : 'moved'] += 1;
    }
    if (kept.length > 0 || record.whole.length === 0) keep(draft, number, { bytes, record, kept });
    if (stubs.length >= STUBS_TOGETHER) stubs = addStubs(draft, number, stubs);
  }
  addStubs(draft, number, stubs);
  addLoose(draft, number);
  return draft;
}

/** Copies a record; of one of which only some episodes are kept, those become loose. */
function keep(
  draft: Draft,
  segment: number,
  { bytes, record, kept }: { bytes: Buffer; record: Found; kept: readonly EpisodeSummary[] },
): void {
  const { offset, length, whole, hasTwins } = record;
  const copied = bytes.subarray(offset, offset + length);
  if (kept.length === whole.length && !hasTwins) {
    for (const { id } of kept) draft.places.set(episodeSequence(id), { segment, offset: draft.size, length });
    append(draft, copied);
    return;
  }
  const ids = new Set<string>(kept.map(({ id }) => id));
  for (const part of partsIn(copied)) {
    const header = headerSchema.parse(part.header);
    if (ids.has(header.id)) draft.loose.push({ header, body: inflateBody(part) });
  }
  if (packedBytes(draft.loose) >= GROUP_BYTES) addLoose(draft, segment);
}

/** Makes records of the loose episodes. */
function addLoose(draft: Draft, segment: number): void {
  for (const group of groupsOf(draft.loose)) {
    const { chunks, length } = encodeEpisodes(group);
    for (const { header } of group)
      draft.places.set(episodeSequence(header.id), { segment, offset: draft.size, length });
    for (const chunk of chunks) append(draft, chunk);
  }
  draft.loose = [];
}

function append(draft: Draft, bytes: Uint8Array): void {
  draft.chunks.push(bytes);
  draft.size += bytes.byteLength;
}

/** Length 0 says that there are no steps at that place. Returns the empty list to go on with. */
function addStubs(draft: Draft, segment: number, stubs: readonly EpisodeSummary[]): EpisodeSummary[] {
  if (stubs.length === 0) return [];
  const record = encodeRecord('stubs', { episodes: stubs.length }, Buffer.from(JSON.stringify(stubs)));
  for (const { id } of stubs) {
    draft.places.set(episodeSequence(id), { segment, offset: draft.size, length: 0 });
  }
  for (const chunk of record.chunks) append(draft, chunk);
  return [];
}

/** Writes a draft, forces it to the disk and reads it back; false when the wish to go on is gone. */
async function writeWhole(path: string, draft: Draft, breathe: RewriteOptions['breathe']): Promise<boolean> {
  const file = await open(path, 'w+');
  try {
    for (let from = 0; from < draft.chunks.length; from += BREATH) {
      await file.writeFile(Buffer.concat(draft.chunks.slice(from, from + BREATH)));
      if (!(await breathe())) return false;
    }
    await file.sync();
    return await verify(path, file, draft, breathe);
  } finally {
    await file.close();
  }
}

/** Reads back what was written: the bytes are those of whole records, so it is enough that they are the same. */
async function verify(
  path: string,
  file: FileHandle,
  draft: Draft,
  breathe: RewriteOptions['breathe'],
): Promise<boolean> {
  const { size } = await file.stat();
  let at = 0;
  let same = size === draft.size;
  for (let from = 0; same && from < draft.chunks.length; from += BREATH) {
    const wanted = Buffer.concat(draft.chunks.slice(from, from + BREATH));
    const { bytesRead, buffer } = await file.read(Buffer.alloc(wanted.byteLength), 0, wanted.byteLength, at);
    same = bytesRead === wanted.byteLength && buffer.equals(wanted);
    at += bytesRead;
    if (!(await breathe())) return false;
  }
  if (same) return true;
  throw new LabError('store-failed', {
    message: `${path} reads back other than it was written (${size} bytes of ${draft.size})`,
    hint: 'the segment was left as it is; check the disk',
  });
}

/** In one transaction, on the disk when it returns: after a power failure the index must not speak of the old file. */
function commitPlaces(database: Database.Database, number: number, { places, size }: Draft): void {
  const move = database.prepare('UPDATE episodes SET segment = ?, offset = ?, length = ? WHERE sequence = ?');
  database.pragma('synchronous = FULL');
  try {
    database
      .transaction(() => {
        for (const [sequence, at] of places) move.run(at.segment, at.offset, at.length, sequence);
        database.prepare('UPDATE segments SET indexed_bytes = ? WHERE number = ?').run(size, number);
      })
      .immediate();
  } finally {
    database.pragma('synchronous = NORMAL');
  }
}
