/**
 * The one source of random numbers. Every stream is made from a seed and the purpose it serves, so that an episode is a
 * function of (run seed, episode, purpose) and of nothing else.
 */
export interface RandomStream {
  /** Uniform in [0, 1), 32 bits of resolution. */
  next(): number;
  /** Uniform integer in [0, bound); bound must be a positive integer. */
  integer(bound: number): number;
  /** One element of a non-empty list. */
  pick<T>(items: readonly T[]): T;
  /** A shuffled copy (Fisher–Yates). */
  shuffle<T>(items: readonly T[]): T[];
  /** The state, four 32-bit words, for a checkpoint. */
  getState(): readonly number[];
}

/** Mixes strings and numbers into a 32-bit seed (FNV-1a over the text, then the murmur3 finaliser). */
export function deriveSeed(...parts: readonly (string | number)[]): number {
  let hash = 0x811c9dc5;
  for (let part = 0; part < parts.length; part++) {
    // A character of code 0 between two parts.
    if (part > 0) hash = Math.imul(hash, 0x01000193);
    const text = String(parts[part]);
    for (let i = 0; i < text.length; i++) {
      hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    }
  }
  return finalise(hash);
}

/** A stream for a seed: sfc32 (Doty-Humphrey), its state filled from the seed and run twelve rounds. */
export function createRandom(seed: number): RandomStream {
  const stream = fromState([finalise(seed), finalise(seed ^ 0x9e3779b9), finalise(seed ^ 0x243f6a88), 1]);
  for (let round = 0; round < 12; round++) stream.next();
  return stream;
}

/** Continues a stream from a state that `getState` gave. */
export function resumeRandom(state: readonly number[]): RandomStream {
  return fromState(state);
}

function finalise(value: number): number {
  let mixed = value >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function fromState([a = 0, b = 0, c = 0, counter = 1]: readonly number[]): RandomStream {
  return new Sfc32(a, b, c, counter);
}

/** A class, not closures: an episode makes several streams. */
class Sfc32 implements RandomStream {
  #a: number;
  #b: number;
  #c: number;
  #counter: number;

  constructor(a: number, b: number, c: number, counter: number) {
    this.#a = a | 0;
    this.#b = b | 0;
    this.#c = c | 0;
    this.#counter = counter | 0;
  }

  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    const c = this.#c;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (c + (c << 3)) | 0;
    this.#c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 4294967296;
  }

  integer(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.integer(items.length)];
    if (item === undefined) throw new RangeError('pick from an empty list');
    return item;
  }

  shuffle<T>(items: readonly T[]): T[] {
    const copy = [...items];
    for (let i = copy.length - 1; i > 0; i--) {
      const j = this.integer(i + 1);
      const kept = copy[i];
      const moved = copy[j];
      if (kept !== undefined && moved !== undefined) {
        copy[i] = moved;
        copy[j] = kept;
      }
    }
    return copy;
  }

  getState(): readonly number[] {
    return [this.#a >>> 0, this.#b >>> 0, this.#c >>> 0, this.#counter >>> 0];
  }
}
