import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  deflateRawSync,
  inflateRawSync,
} from 'node:zlib';

/** Level 1: an episode's JSON shrinks about tenfold; higher levels cost more time than they save bytes. */
const DEFLATE = { level: 1, memLevel: 9 } as const;
/**
 * For bodies that fit into its window, as nearly all do: the bytes are the same, and zlib need not set up 256 kB of tables
 * for a body of 2 kB, which takes longer than deflating it.
 */
const SMALL_DEFLATE = { level: 1, memLevel: 6, windowBits: 14 } as const;
const SMALL_BODY_BYTES = 2 ** SMALL_DEFLATE.windowBits;
/** Of a group it makes about what deflate makes, in half the time. A window of 64 KiB: groups are smaller. */
const BROTLI = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 0, [constants.BROTLI_PARAM_LGWIN]: 16 },
} as const;

/** Raw deflate: any piece of it from the start on can be unpacked, as is done with episodes that are long. */
export function deflateBody(body: Uint8Array): Uint8Array {
  return deflateRawSync(body, body.byteLength <= SMALL_BODY_BYTES ? SMALL_DEFLATE : DEFLATE);
}

/** Brotli, of what is always unpacked whole. */
export function packTogether(payload: Uint8Array): Uint8Array {
  return brotliCompressSync(payload, BROTLI);
}

/** The payload of a group, at most so many bytes; groups of older labs are deflated. Throws what zlib throws. */
export function unpackTogether(packed: Uint8Array, isDeflated: boolean, most: number): Buffer {
  const options = { maxOutputLength: Math.max(1, most) };
  return isDeflated ? inflateRawSync(packed, options) : brotliDecompressSync(packed, options);
}
