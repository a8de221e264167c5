const WORD_BITS = 32;

/** A set of sequences of episodes: a bit each, as they are dense. */
export class SequenceSet {
  #words = new Uint32Array(1024);

  has(sequence: number): boolean {
    return ((this.#words[sequence >>> 5] ?? 0) & (1 << (sequence & (WORD_BITS - 1)))) !== 0;
  }

  add(sequence: number): void {
    const at = sequence >>> 5;
    if (at >= this.#words.length) {
      const words = new Uint32Array(Math.max(at + 1, this.#words.length * 2));
      words.set(this.#words);
      this.#words = words;
    }
    this.#words[at] = (this.#words[at] ?? 0) | (1 << (sequence & (WORD_BITS - 1)));
  }
}
