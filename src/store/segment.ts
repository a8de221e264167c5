import {
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  writeSync,
  writevSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { crc32, inflateRawSync } from 'node:zlib';
import { errorText, LabError, systemErrorCode } from '../domain/error.ts';
import { keysOf } from '../domain/table.ts';
import { syncDirectory } from './atomic-file.ts';
import { deflateBody, packTogether, unpackTogether } from './packing.ts';
import { type GroupedEpisode, headBytes, packGroup, payloadBytes, unpackGroup } from './record-group.ts';

/** A segment is closed, and the next one begun, before it would grow past this. */
export const SEGMENT_BYTES = 64 * 1024 * 1024;

/** Of a run with a byte budget: a twentieth of it, so that there are closed segments to compact, but 1 MiB at least. */
export function segmentBytesWithin(budgetGiB: number | null): number {
  if (budgetGiB === null) return SEGMENT_BYTES;
  return Math.max(2 ** 20, Math.min(SEGMENT_BYTES, Math.floor((budgetGiB * 2 ** 30) / 20)));
}

/**
 * Kinds of records, and the byte that tells them. A segment holds records one after the other, little endian:
 * `ALR` · kind byte · u32 header length · u32 body length · u32 CRC-32 of all the rest · header (UTF-8 JSON) · body
 * (raw deflate, of `group`, several episodes in one, brotli; empty for all kinds but these, episodes and `stubs`, the summaries
 * of episodes whose steps were dropped).
 */
const KIND_BYTES = {
  episode: 0x65,
  group: 0x62,
  stubs: 0x73,
  iteration: 0x69,
  evaluation: 0x76,
  event: 0x6e,
  knob: 0x6b,
} as const;
export type RecordKind = keyof typeof KIND_BYTES;
/** Groups of runs of format 2 are deflated. */
const DEFLATED_GROUP_BYTE = 0x67;
const MAGIC = Buffer.from('ALR');
const PREFIX_BYTES = 16;
/** Keeps a damaged or hostile record from filling the memory. */
export const MAX_BODY_BYTES = 1024 * 1024 * 1024;
const NO_BODY = new Uint8Array(0);

/** Where a record stands. */
export interface RecordPlace {
  readonly segment: number;
  readonly offset: number;
  readonly length: number;
}

/** A record ready to be written: its bytes in order, and how many. */
export interface EncodedRecord {
  readonly chunks: readonly Uint8Array[];
  readonly length: number;
}

/** One stretch of a segment: a whole record, or bytes that are none (`reachesEnd`: and none follows). */
export type ScannedStretch =
  | {
      readonly type: 'record';
      readonly offset: number;
      readonly length: number;
      readonly record: StoredRecord;
      /** All of it, as it stands there. */
      readonly bytes: Buffer;
    }
  | {
      readonly type: 'damage';
      readonly offset: number;
      readonly length: number;
      readonly reachesEnd: boolean;
    };

/** A record whose checksum is right. */
export interface StoredRecord {
  readonly kind: RecordKind;
  readonly header: unknown;
  /** Still deflated, but of an episode that was taken out of a group. */
  readonly body: Uint8Array;
  readonly isInflated?: boolean;
  /** The episodes of a group, each as if it were a record. */
  readonly parts?: readonly StoredRecord[];
}

/** `000001.seg`. */
export function segmentName(number: number): string {
  return `${String(number).padStart(6, '0')}.seg`;
}

/** Numbers of the segments in a directory, ascending. */
export function segmentNumbers(directory: string): number[] {
  return readdirSync(directory)
    .filter((name) => /^\d{6,}\.seg$/u.test(name))
    .map((name) => Number.parseInt(name, 10))
    .toSorted((left, right) => left - right);
}

/** Makes a record of a JSON header and, for episodes, a body. */
export function encodeRecord(kind: RecordKind, header: object, body?: Uint8Array): EncodedRecord {
  return recordOf(kind, Buffer.from(JSON.stringify(header)), body);
}

/** The same of a header that is JSON already. */
function recordOf(kind: RecordKind, head: Uint8Array, body?: Uint8Array): EncodedRecord {
  const pack = kind === 'group' ? packTogether : deflateBody;
  const packed = body === undefined ? NO_BODY : pack(body);
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  prefix.set(MAGIC);
  prefix.writeUInt8(KIND_BYTES[kind], 3);
  prefix.writeUInt32LE(head.byteLength, 4);
  prefix.writeUInt32LE(packed.byteLength, 8);
  prefix.writeUInt32LE(checksum(prefix, head, packed), 12);
  return {
    chunks: [prefix, head, packed],
    length: PREFIX_BYTES + head.byteLength + packed.byteLength,
  };
}

/** Makes one record of some episodes, in this order; of a single one a record of its own. There is one at least. */
export function encodeEpisodes(episodes: readonly GroupedEpisode[]): EncodedRecord {
  const [only] = episodes;
  if (episodes.length === 1 && only !== undefined) return recordOf('episode', headBytes(only), only.body);
  const { header, payload } = packGroup(episodes);
  return encodeRecord('group', header, payload);
}

/** The record, or the episodes of a group as if each were one. */
export function partsOf(record: StoredRecord): readonly StoredRecord[] {
  return record.parts ?? [record];
}

/** The same of a record's bytes. Throws `segment-corrupt` when they are none. */
export function partsIn(bytes: Buffer): readonly StoredRecord[] {
  const record = wholeRecord(bytes);
  if (record === null) throw corrupt(`${bytes.byteLength} bytes that are not a whole record`);
  return partsOf(record);
}

/** The body as it was given to `encodeRecord`. Throws `segment-corrupt` when it cannot be unpacked. */
export function inflateBody(record: StoredRecord): Buffer {
  if (record.isInflated === true)
    return Buffer.from(record.body.buffer, record.body.byteOffset, record.body.byteLength);
  try {
    return inflateRawSync(record.body, { maxOutputLength: MAX_BODY_BYTES });
  } catch (thrown) {
    throw corrupt(`a body that does not unpack: ${errorText(thrown)}`, thrown);
  }
}

/** Reads one record. Throws `segment-corrupt` when the file is missing or short, or the checksum is wrong. */
export function readRecord(directory: string, place: RecordPlace): StoredRecord {
  return readRecordAt(join(directory, segmentName(place.segment)), place);
}

/** The same in any file. */
export function readRecordAt(path: string, place: Omit<RecordPlace, 'segment'>): StoredRecord {
  const where = `${basename(path)} at byte ${place.offset}`;
  const bytes = Buffer.allocUnsafe(place.length);
  let read: number;
  try {
    const file = openSync(path, 'r');
    try {
      read = readSync(file, bytes, 0, place.length, place.offset);
    } finally {
      closeSync(file);
    }
  } catch (thrown) {
    throw corrupt(`${where}: ${errorText(thrown)}`, thrown);
  }
  const record = read === place.length ? wholeRecord(bytes) : null;
  if (record === null) throw corrupt(`${where}: ${place.length} bytes that are not a whole record`);
  return record;
}

/**
 * Walks a segment from a record's start, as if it ended before byte `to`. Damaged stretches are passed over; nothing is
 * thrown for them.
 */
export function scanSegment(
  directory: string,
  number: number,
  from = 0,
  to = Number.POSITIVE_INFINITY,
): Generator<ScannedStretch> {
  return scanFile(join(directory, segmentName(number)), from, to);
}

/** The same for any file that holds whole records; what is between them counts as damage. */
export function scanFile(path: string, from = 0, to = Number.POSITIVE_INFINITY): Generator<ScannedStretch> {
  // At once: a file that is not there is not found out in the middle of a walk.
  return scanBytes(readStretch(path, from, to), from);
}

function* scanBytes(bytes: Buffer, from: number): Generator<ScannedStretch> {
  let at = 0;
  while (at < bytes.byteLength) {
    const length = recordLength(bytes, at);
    const record = length === null ? null : decodeRecord(bytes, at, length);
    if (record !== null && length !== null) {
      yield { type: 'record', offset: from + at, length, record, bytes: bytes.subarray(at, at + length) };
      at += length;
    } else {
      const next = nextRecord(bytes, at + 1);
      const end = next ?? bytes.byteLength;
      yield { type: 'damage', offset: from + at, length: end - at, reachesEnd: next === null };
      at = end;
    }
  }
}

function readStretch(path: string, from: number, to: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const length = Math.max(0, Math.min(to, fstatSync(file).size) - from);
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, from));
  } finally {
    closeSync(file);
  }
}

/** Appends to the newest segment of a directory. Only one may exist for a directory at a time. */
export class SegmentAppender {
  readonly #directory: string;
  readonly #limit: number;
  #number: number;
  #file: number;
  #size: number;

  constructor(directory: string, limit: number) {
    this.#directory = directory;
    this.#limit = limit;
    this.#number = segmentNumbers(directory).at(-1) ?? 1;
    this.#file = openToAppend(directory, this.#number);
    this.#size = fstatSync(this.#file).size;
  }

  /** Number of the segment that is appended to. */
  get number(): number {
    return this.#number;
  }

  get path(): string {
    return join(this.#directory, segmentName(this.#number));
  }

  /** Where the next record will stand; begins a new segment when `bytes` more would not fit. */
  reserve(bytes: number): Omit<RecordPlace, 'length'> {
    if (this.#size > 0 && this.#size + bytes > this.#limit) {
      fsyncSync(this.#file);
      const next = openToAppend(this.#directory, this.#number + 1);
      closeSync(this.#file);
      this.#file = next;
      this.#number += 1;
      this.#size = fstatSync(next).size;
    }
    return { segment: this.#number, offset: this.#size };
  }

  /** Writes at the end, in one system call if the system takes it. When this throws, call `truncate`. */
  append(records: readonly EncodedRecord[]): void {
    const chunks = records.flatMap((record) => record.chunks);
    const total = records.reduce((sum, record) => sum + record.length, 0);
    if (total === 0) return;
    let written = writevSync(this.#file, chunks, this.#size);
    while (written < total) {
      // A short write is what a disk does that is about to be full: the next one says so.
      written += writeSync(
        this.#file,
        Buffer.concat(chunks).subarray(written),
        0,
        null,
        this.#size + written,
      );
    }
    this.#size += total;
  }

  /** Cuts off what was written from `offset` on. */
  truncate(offset: number): void {
    ftruncateSync(this.#file, offset);
    this.#size = offset;
  }

  sync(): void {
    fsyncSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }
}

function openToAppend(directory: string, number: number): number {
  const path = join(directory, segmentName(number));
  try {
    return openSync(path, 'r+');
  } catch (thrown) {
    if (systemErrorCode(thrown) !== 'ENOENT') throw thrown;
  }
  const file = openSync(path, 'wx+');
  syncDirectory(directory);
  return file;
}

/** Length of the record whose prefix stands at an offset; null when there is none, or it is longer than the bytes. */
function recordLength(bytes: Buffer, offset: number): number | null {
  if (offset + PREFIX_BYTES > bytes.byteLength) return null;
  if (bytes.compare(MAGIC, 0, MAGIC.byteLength, offset, offset + MAGIC.byteLength) !== 0) return null;
  const length = PREFIX_BYTES + bytes.readUInt32LE(offset + 4) + bytes.readUInt32LE(offset + 8);
  return offset + length <= bytes.byteLength ? length : null;
}

/** Null unless they are one. */
function wholeRecord(bytes: Buffer): StoredRecord | null {
  const { byteLength } = bytes;
  return recordLength(bytes, 0) === byteLength ? decodeRecord(bytes, 0, byteLength) : null;
}

function decodeRecord(bytes: Buffer, offset: number, length: number): StoredRecord | null {
  const prefix = bytes.subarray(offset, offset + PREFIX_BYTES);
  const bodyOffset = offset + PREFIX_BYTES + prefix.readUInt32LE(4);
  const head = bytes.subarray(offset + PREFIX_BYTES, bodyOffset);
  const body = bytes.subarray(bodyOffset, offset + length);
  const isDeflatedGroup = prefix[3] === DEFLATED_GROUP_BYTE;
  const kind = isDeflatedGroup ? 'group' : keysOf(KIND_BYTES).find((name) => KIND_BYTES[name] === prefix[3]);
  if (kind === undefined || checksum(prefix, head, body) !== prefix.readUInt32LE(12)) return null;
  try {
    const header: unknown = JSON.parse(head.toString('utf8'));
    if (kind !== 'group') return { kind, header, body };
    return decodeGroup(header, body, isDeflatedGroup);
  } catch {
    // Right checksum, no JSON: not written by us, so damage like any other.
    return null;
  }
}

/** Throws for what is no group, or null. */
function decodeGroup(header: unknown, body: Uint8Array, isDeflated: boolean): StoredRecord | null {
  const bytes = payloadBytes(header);
  if (bytes === null || bytes > MAX_BODY_BYTES) return null;
  const payload = unpackTogether(body, isDeflated, bytes);
  if (payload.byteLength !== bytes) return null;
  const parts = unpackGroup(header, payload).map((episode): StoredRecord => {
    return { kind: 'episode', ...episode, isInflated: true };
  });
  return { kind: 'group', header, body, parts };
}

function nextRecord(bytes: Buffer, from: number): number | null {
  for (let at = bytes.indexOf(MAGIC, from); at >= 0; at = bytes.indexOf(MAGIC, at + 1)) {
    const length = recordLength(bytes, at);
    if (length !== null && decodeRecord(bytes, at, length) !== null) return at;
  }
  return null;
}

function checksum(prefix: Uint8Array, head: Uint8Array, body: Uint8Array): number {
  const first = crc32(head, crc32(prefix.subarray(0, 12)));
  // zlib starts anew, instead of going on, when given no bytes at a null address.
  return body.byteLength === 0 ? first : crc32(body, first);
}

function corrupt(what: string, cause?: unknown): LabError {
  return new LabError('segment-corrupt', {
    message: `segment is damaged: ${what}`,
    hint: 'see what is lost with: agentrl-lab fsck, and rebuild the index of the rest with: agentrl-lab fsck --repair',
    cause,
  });
}
