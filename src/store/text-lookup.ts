import type Database from 'better-sqlite3';
import { BLOCK, MAX_GRAM, markMembers } from './text-grams.ts';

/** Documents from `from` to before `to`, by number. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/**
 * Looks phrases up in what is kept of whole blocks (text-grams.ts). A phrase of common words that a block does not list is not
 * in it, nor is a longer one a part of which is not. Only where a word of a phrase is not common, a block knows nothing.
 */
export class BlockLookup {
  readonly #database: Database.Database;
  readonly #select: Database.Statement<[string, number, number], { block: number; members: Buffer }>;
  readonly #selectBlocks: Database.Statement<[string, number, number], number>;

  constructor(database: Database.Database) {
    this.#database = database;
    const from = 'FROM common WHERE gram = ? AND block >= ? AND block < ?';
    this.#select = database.prepare(`SELECT block, members ${from}`);
    this.#selectBlocks = database.prepare<[string, number, number], number>(`SELECT block ${from}`).pluck();
  }

  /**
   * Marks those of some documents that have whole words one after the other, as far as their blocks say; a bit each, by number.
   * Returns the documents of which they say nothing, ascending.
   */
  find(words: readonly string[], { from, to }: Stretch, bits: Uint32Array): Stretch[] {
    const [first, end] = [Math.floor(from / BLOCK), Math.floor(to / BLOCK)];
    const isKnown = new Uint8Array(end);
    if (words.length <= MAX_GRAM) {
      for (const { block, members } of this.#select.iterate(words.join(' '), first, end)) {
        isKnown[block] = 1;
        markMembers(bits, block, members);
      }
    }
    if (words.length > 1) this.#ruleOut(words, { first, end, isKnown });
    return stretchesOf(isKnown, first);
  }

  /** Marks the blocks that cannot have the phrase, by the parts of it that are of common words there. */
  #ruleOut(
    words: readonly string[],
    { first, end, isKnown }: { readonly first: number; readonly end: number; readonly isKnown: Uint8Array },
  ): void {
    if (isKnown.subarray(first).every((known) => known === 1)) return;
    const complete = this.#complete(first, end);
    const hasWord = words.map((word) => this.#blocksWith(word, first, end));
    for (let length = 2; length <= Math.min(MAX_GRAM, words.length); length += 1) {
      for (let start = 0; start + length <= words.length; start += 1) {
        const has = this.#blocksWith(words.slice(start, start + length).join(' '), first, end);
        for (let block = first; block < end; block += 1) {
          if (isKnown[block] === 1 || has[block] === 1 || (complete[block] ?? 0) < length) continue;
          if (hasWord.slice(start, start + length).every((common) => common[block] === 1)) isKnown[block] = 1;
        }
      }
    }
  }

  #blocksWith(gram: string, first: number, end: number): Uint8Array {
    const has = new Uint8Array(end);
    for (const block of this.#selectBlocks.all(gram, first, end)) has[block] = 1;
    return has;
  }

  #complete(first: number, end: number): Uint8Array {
    const complete = new Uint8Array(end);
    const rows = this.#database
      .prepare<[number, number], { block: number; complete: number }>(
        'SELECT block, complete FROM blocks WHERE block >= ? AND block < ?',
      )
      .iterate(first, end);
    for (const row of rows) complete[row.block] = row.complete;
    return complete;
  }
}

/** The documents of blocks that are not marked. */
function stretchesOf(isKnown: Uint8Array, first: number): Stretch[] {
  const stretches: Stretch[] = [];
  for (let block = first; block < isKnown.length; block += 1) {
    if (isKnown[block] === 1) continue;
    const from = block * BLOCK;
    while (block + 1 < isKnown.length && isKnown[block + 1] === 0) block += 1;
    stretches.push({ from, to: (block + 1) * BLOCK });
  }
  return stretches;
}
