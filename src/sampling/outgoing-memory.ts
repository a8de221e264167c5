/** Bytes of a piece: an episode of the Workbench is 3 to 30 kB. */
const PIECE_BYTES = 256 * 1024;
const WORD = 4;

/**
 * Memory for what is sent, cut from pieces that hold many episodes: an array buffer of its own for each takes longer to make, and to
 * give back, than to fill. A piece goes when nobody holds a part of it any more.
 */
export class OutgoingMemory {
  #bytes = new Uint8Array(0);
  #words = new Int32Array(0);
  #used = 0;

  /** The piece that was cut from last. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** The same by words of 4 bytes. */
  get words(): Int32Array {
    return this.#words;
  }

  /** Cuts so many bytes off, which begin at a whole word; returns where in `bytes`. */
  take(bytes: number): number {
    return this.#cut(bytes, 0);
  }

  /** Cuts so many bytes off that end with a whole word: what is taken next adjoins them. */
  takeBefore(bytes: number): number {
    return this.#cut(bytes, (WORD - (bytes % WORD)) % WORD);
  }

  #cut(bytes: number, gap: number): number {
    const start = Math.ceil(this.#used / WORD) * WORD + gap;
    if (start + bytes > this.#bytes.byteLength) {
      const piece = Math.ceil(Math.max(PIECE_BYTES, gap + bytes) / WORD) * WORD;
      this.#bytes = Buffer.allocUnsafeSlow(piece);
      this.#words = new Int32Array(this.#bytes.buffer);
      this.#used = gap + bytes;
      return gap;
    }
    this.#used = start + bytes;
    return start;
  }
}

/** One after another, all slots of a process cut from it. */
export const outgoingMemory = new OutgoingMemory();
