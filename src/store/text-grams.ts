import { wordsOf } from './text-words.ts';

/** Documents of a block: those numbered BLOCK × b to BLOCK × (b + 1) − 1. */
export const BLOCK = 4096;
/** Longest phrase, in words, that is looked up instead of searched for. */
export const MAX_GRAM = 4;
/** A phrase in so many documents of a block or more is common there. */
const COMMON = 128;
/** Words of different lines that a block may hold in memory; of a block of more text no phrase is taken for common. */
const MOST_WORDS = 4_000_000;

/** The set of documents of one block, a bit each, that have a phrase. */
export interface CommonGram {
  readonly gram: string;
  readonly members: Uint8Array;
}

/** Phrases of one length, by number: what each is, and where they begin in each line (−1: none that is common). */
interface Level {
  readonly grams: readonly string[];
  readonly starts: readonly Int32Array[];
}

/**
 * Finds the phrases of up to MAX_GRAM words that are common in a block of documents: those for which a full-text index has
 * to walk through much, and for which a set of bits is small. Each part of a common phrase is common (Agrawal and Srikant
 * 1994), so that longer ones are only looked for among those.
 */
export class BlockGrams {
  readonly #wordIds = new Map<string, number>();
  readonly #lineIds = new Map<string, number>();
  /** Of each line, its words. */
  readonly #lines: Int32Array[] = [];
  /** Of each document, its lines. */
  readonly #documents: Uint32Array[] = [];
  #words = 0;

  /** Documents noted so far. */
  get size(): number {
    return this.#documents.length;
  }

  /** Notes the next document. */
  add(lines: readonly string[]): void {
    this.#documents.push(
      this.#overflows() ? new Uint32Array(0) : Uint32Array.from(lines, (line) => this.#lineId(line)),
    );
  }

  /** The common phrases of a whole block. */
  common(): CommonGram[] {
    const found: CommonGram[] = [];
    if (this.#overflows()) return found;
    let level: Level = { grams: [...this.#wordIds.keys()], starts: this.#lines };
    const isCommonWord = this.#count(level).map((count) => Number(count >= COMMON));
    for (let length = 1; length <= MAX_GRAM; length++) {
      const counts = this.#count(level);
      found.push(...this.#setsOf(level, counts));
      level = this.#longer(level, counts, length, isCommonWord);
    }
    return found;
  }

  #overflows(): boolean {
    return this.#words > MOST_WORDS;
  }

  #lineId(line: string): number {
    const known = this.#lineIds.get(line);
    if (known !== undefined) return known;
    const words = wordsOf(line);
    this.#words += words.length;
    const id = this.#lines.push(Int32Array.from(words, (word) => this.#wordId(word))) - 1;
    this.#lineIds.set(line, id);
    return id;
  }

  #wordId(word: string): number {
    const known = this.#wordIds.get(word);
    if (known !== undefined) return known;
    const id = this.#wordIds.size;
    this.#wordIds.set(word, id);
    return id;
  }

  /** In how many documents each phrase is. */
  #count({ grams, starts }: Level): Uint32Array {
    const counts = new Uint32Array(grams.length);
    const seen = new Int32Array(grams.length).fill(-1);
    for (const [document, lines] of this.#documents.entries()) {
      for (const line of lines) {
        for (const gram of starts[line] ?? []) {
          if (gram < 0 || seen[gram] === document) continue;
          seen[gram] = document;
          counts[gram] = (counts[gram] ?? 0) + 1;
        }
      }
    }
    return counts;
  }

  #setsOf({ grams, starts }: Level, counts: Uint32Array): CommonGram[] {
    const sets = grams.map((_, gram) => ((counts[gram] ?? 0) >= COMMON ? new Uint8Array(BLOCK / 8) : null));
    for (const [document, lines] of this.#documents.entries()) {
      const [at, bit] = [document >> 3, 1 << (document & 7)];
      for (const line of lines) {
        for (const gram of starts[line] ?? []) {
          const set = sets[gram] ?? null;
          if (set !== null) set[at] = (set[at] ?? 0) | bit;
        }
      }
    }
    return sets.flatMap((members, gram) => (members === null ? [] : [{ gram: grams[gram] ?? '', members }]));
  }

  /** Phrases of a word more, made of common ones. */
  #longer(level: Level, counts: Uint32Array, length: number, isCommonWord: Uint32Array): Level {
    const texts = [...this.#wordIds.keys()];
    const ids = new Map<number, number>();
    const grams: string[] = [];
    const starts = level.starts.map((of, line) => {
      const words = this.#lines[line] ?? NONE;
      let next: Int32Array = NONE;
      for (const [start, gram] of of.entries()) {
        const word = words[start + length];
        if (gram < 0 || word === undefined) continue;
        if ((counts[gram] ?? 0) < COMMON || isCommonWord[word] !== 1) continue;
        const key = gram * texts.length + word;
        let id = ids.get(key);
        if (id === undefined) {
          id = grams.push(`${level.grams[gram] ?? ''} ${texts[word] ?? ''}`) - 1;
          ids.set(key, id);
        }
        if (next === NONE) next = new Int32Array(of.length).fill(-1);
        next[start] = id;
      }
      return next;
    });
    return { grams, starts };
  }
}

const NONE = new Int32Array(0);
