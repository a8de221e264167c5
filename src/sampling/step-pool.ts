/** Steps of a block. */
export const BLOCK_STEPS = 4;
/** Bytes of a piece, unless a block has more. */
const PIECE_BYTES = 1024 * 1024;

/** One stretch of memory by its bytes, and by what stands in them. */
export interface Piece {
  readonly bytes: Uint8Array;
  readonly halves: Uint16Array;
  readonly words: Int32Array;
  readonly floats: Float32Array;
}

/**
 * Memory for the steps of all slots' episodes, in blocks of BLOCK_STEPS that are taken and given back. An episode holds no more
 * than its steps need, the block given back last, which may still be in a cache, is taken first, and nothing is allocated once as
 * many steps are under way as ever are. Memory of its own for each slot grew to that of the longest episode in each, and V8
 * collects garbage whenever 32 MB of such memory have been made.
 */
export class StepPool {
  readonly #blockBytes: number;
  readonly #pieceBlocks: number;
  readonly #pieces: Piece[] = [];
  /** Blocks that nobody has; the last is taken first. */
  readonly #free: number[] = [];

  /** `stride`: bytes of a step, a multiple of 4. */
  constructor(stride: number) {
    this.#blockBytes = BLOCK_STEPS * stride;
    this.#pieceBlocks = Math.max(1, Math.floor(PIECE_BYTES / this.#blockBytes));
  }

  /** Number of a block, which is the caller's until it gives it back. */
  take(): number {
    return this.#free.pop() ?? this.#add();
  }

  give(block: number): void {
    this.#free.push(block);
  }

  /** Where a block lies. */
  piece(block: number): Piece {
    return this.#pieces[Math.floor(block / this.#pieceBlocks)] ?? this.#makePiece();
  }

  /** Byte of its piece at which a block begins. */
  start(block: number): number {
    return (block % this.#pieceBlocks) * this.#blockBytes;
  }

  #add(): number {
    const first = this.#pieces.length * this.#pieceBlocks;
    this.#makePiece();
    for (let block = first + this.#pieceBlocks - 1; block > first; block--) this.#free.push(block);
    return first;
  }

  #makePiece(): Piece {
    const buffer = new ArrayBuffer(this.#pieceBlocks * this.#blockBytes);
    const piece = {
      bytes: new Uint8Array(buffer),
      halves: new Uint16Array(buffer),
      words: new Int32Array(buffer),
      floats: new Float32Array(buffer),
    };
    this.#pieces.push(piece);
    return piece;
  }
}
