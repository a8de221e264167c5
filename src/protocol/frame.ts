import { LabError } from '../domain/error.ts';

/**
 * Messages between the run process and its children: a JSON header and any number of named binary attachments.
 *
 * Wire format, little endian: u32 length of what follows · u32 length of the header · header (UTF-8 JSON:
 * `{ message, attachments: [[name, byteLength], …] }`) · the attachments' bytes in that order. A sender writes PREAMBLE
 * once before its first frame; a reader skips whatever a login shell printed before it.
 */
export const PREAMBLE = Buffer.from('\u0000agentrl-lab/1\n');
/** Of a frame, its two lengths. */
const PREFIX_BYTES = 8;
const MAX_FRAME_BYTES = 512 * 1024 * 1024;
const MAX_NOISE_BYTES = 64 * 1024;

export type Attachments = Readonly<Record<string, Uint8Array>>;

export interface Frame {
  readonly message: unknown;
  readonly attachments: Attachments;
}

/** The bytes of a typed array, without copying: little-endian, as every machine that Node 20 runs on has them. */
export function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** The chunks to write for one frame, in order. Attachments are not copied; those that adjoin in memory are one chunk. */
export function encodeFrame(message: object, attachments: Attachments = {}): Uint8Array[] {
  const lengths: [string, number][] = [];
  const chunks: Uint8Array[] = [];
  let total = 4;
  // The stretch of memory that is not among the chunks yet: its first bytes, and where it ends.
  let [first, end]: [Uint8Array | null, number] = [null, 0];
  for (const name in attachments) {
    const bytes = attachments[name];
    if (bytes === undefined) continue;
    const { byteLength, byteOffset } = bytes;
    lengths.push([name, byteLength]);
    total += byteLength;
    if (first === null || first.buffer !== bytes.buffer || byteOffset !== end) {
      if (first !== null) chunks.push(stretch(first, end));
      first = bytes;
    }
    end = byteOffset + byteLength;
  }
  if (first !== null) chunks.push(stretch(first, end));
  const header = JSON.stringify({ message, attachments: lengths });
  const headerLength = Buffer.byteLength(header);
  const head = Buffer.allocUnsafe(8 + headerLength);
  head.writeUInt32LE(total + headerLength, 0);
  head.writeUInt32LE(headerLength, 4);
  head.write(header, 8);
  return [head, ...chunks];
}

/** These bytes one after the other: without copying where they adjoin in memory. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  if (first === undefined) return new Uint8Array(0);
  let end = first.byteOffset;
  for (const { buffer, byteOffset, byteLength } of parts) {
    if (buffer !== first.buffer || byteOffset !== end) return Buffer.concat(parts);
    end += byteLength;
  }
  return stretch(first, end);
}

/** Memory from where `first` begins to `end`. */
function stretch(first: Uint8Array, end: number): Uint8Array {
  const { byteOffset, byteLength } = first;
  if (byteOffset + byteLength === end) return first;
  return new Uint8Array(first.buffer, byteOffset, end - byteOffset);
}

/** Cuts a stream of bytes into frames. Throws `protocol-invalid` on anything that is not one. */
export class FrameReader {
  /** The beginning of a frame whose end has not come yet, or what came before the first frame. */
  #chunks: Buffer[] = [];
  #buffered = 0;
  /** So many bytes of it are wanted at least: its lengths, then all of it. */
  #wanted = PREFIX_BYTES;
  #started = false;

  /** Takes the next bytes of the stream; returns the frames completed by them. */
  push(chunk: Buffer): Frame[] {
    const frames: Frame[] = [];
    let rest = this.#started ? chunk : this.#afterNoise(chunk);
    // Only a frame that is cut is put together: most of a chunk are whole ones, and stay where they are.
    while (this.#buffered > 0 && rest.byteLength > 0) rest = this.#complete(rest, frames);
    let at = 0;
    while (rest.byteLength - at >= PREFIX_BYTES) {
      const end = at + frameBytes(rest, at);
      if (end > rest.byteLength) break;
      frames.push(decode(rest.subarray(at + 4, end)));
      at = end;
    }
    if (at < rest.byteLength) this.#keep(rest.subarray(at));
    return frames;
  }

  /** Adds to the frame that is cut what is wanted of it; returns what is left. */
  #complete(chunk: Buffer, frames: Frame[]): Buffer {
    const taken = chunk.subarray(0, this.#wanted - this.#buffered);
    this.#chunks.push(taken);
    this.#buffered += taken.byteLength;
    if (this.#buffered === this.#wanted) {
      const data = Buffer.concat(this.#chunks);
      this.#chunks = [];
      this.#buffered = 0;
      if (data.byteLength === PREFIX_BYTES && frameBytes(data, 0) > PREFIX_BYTES) this.#keep(data);
      else frames.push(decode(data.subarray(4)));
    }
    return chunk.subarray(taken.byteLength);
  }

  /** Less than a frame. */
  #keep(start: Buffer): void {
    this.#chunks = [start];
    this.#buffered = start.byteLength;
    this.#wanted = start.byteLength < PREFIX_BYTES ? PREFIX_BYTES : frameBytes(start, 0);
  }

  /** What follows the preamble; nothing while it has not come. */
  #afterNoise(chunk: Buffer): Buffer {
    const data = Buffer.concat([...this.#chunks, chunk]);
    const at = data.indexOf(PREAMBLE);
    if (at < 0) {
      if (data.byteLength > MAX_NOISE_BYTES) {
        throw invalid(
          `${data.byteLength} bytes of something else: ${JSON.stringify(data.toString('utf8', 0, 80))}`,
        );
      }
      this.#chunks = [data];
      return data.subarray(data.byteLength);
    }
    this.#chunks = [];
    this.#started = true;
    return data.subarray(at + PREAMBLE.byteLength);
  }
}

/** Bytes of the frame whose prefix stands there. */
function frameBytes(data: Buffer, at: number): number {
  const total = data.readUInt32LE(at);
  if (total > MAX_FRAME_BYTES || total < 4) throw invalid(`a frame of ${total} bytes`);
  return 4 + total;
}

function decode(data: Buffer): Frame {
  const headerLength = data.readUInt32LE(0);
  if (4 + headerLength > data.byteLength)
    throw invalid(`a header of ${headerLength} bytes in ${data.byteLength}`);
  let header: unknown;
  try {
    header = JSON.parse(data.toString('utf8', 4, 4 + headerLength));
  } catch (thrown) {
    throw invalid('a header that is not JSON', thrown);
  }
  if (!isHeader(header)) throw invalid('a header without message and attachments');
  const attachments: Record<string, Uint8Array> = {};
  let offset = 4 + headerLength;
  for (const [name, length] of header.attachments) {
    if (offset + length > data.byteLength) throw invalid(`attachment "${name}" is cut short`);
    attachments[name] = data.subarray(offset, offset + length);
    offset += length;
  }
  return { message: header.message, attachments };
}

function isHeader(value: unknown): value is { message: unknown; attachments: [string, number][] } {
  if (typeof value !== 'object' || value === null || !('message' in value) || !('attachments' in value))
    return false;
  return (
    Array.isArray(value.attachments) &&
    value.attachments.every(
      (entry: unknown) =>
        Array.isArray(entry) &&
        typeof entry[0] === 'string' &&
        typeof entry[1] === 'number' &&
        Number.isInteger(entry[1]) &&
        entry[1] >= 0,
    )
  );
}

function invalid(found: string, cause?: unknown): LabError {
  return new LabError('protocol-invalid', { message: `expected a protocol frame, got ${found}`, cause });
}
