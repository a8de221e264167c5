/** Bytes of one piece of memory, from which many messages are cut. */
const SLAB_BYTES = 256 * 1024;

let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
let used = 0;

/**
 * Memory for something that is sent and then forgotten, not zeroed. What is asked for in a row adjoins, so that it can be
 * written as one chunk; and the garbage collector has one object to look after where each message would be several. A slab
 * lives as long as anything cut from it.
 */
export function cutFromSlab(bytes: number): Buffer {
  if (bytes > SLAB_BYTES / 4) return Buffer.allocUnsafeSlow(bytes);
  if (used + bytes > SLAB_BYTES) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    used = 0;
  }
  used += bytes;
  return slab.subarray(used - bytes, used);
}
