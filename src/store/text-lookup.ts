import type Database from 'better-sqlite3';
import { begunSign, longestListed } from './text-begun.ts';
import { BLOCK, MAX_GRAM, markMembers } from './text-grams.ts';

/** Documents from `from` to before `to`, by number. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** A phrase the last word of which may go on. */
export interface BegunPhrase {
  /** The words before it. */
  readonly context: readonly string[];
  /** How it begins: one of the beginnings that are listed (text-begun.ts). */
  readonly beginning: string;
  /** Each word that begins like that. */
  readonly goesOn: readonly string[];
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

  /** The same for a phrase the last word of which may go on. */
  findBegun(phrase: BegunPhrase, { from, to }: Stretch, bits: Uint32Array): Stretch[] {
    const [first, end] = [Math.floor(from / BLOCK), Math.floor(to / BLOCK)];
    const { context } = phrase;
    const near = context.slice(-(MAX_GRAM - 1));
    const grams = gramsOf({ ...phrase, context: near });
    const isWhole = near.length === context.length;
    const mayHave = new Uint8Array(end);
    for (const gram of grams) {
      if (!isWhole) this.#markBlocks(mayHave, gram, first);
      else
        for (const { block, members } of this.#select.iterate(gram, first, end))
          markMembers(bits, block, members);
    }
    const begun = this.#numbers('begun', first, end);
    const isCommon = near.map((word) => this.#blocksWith(word, first, end));
    const isKnown = new Uint8Array(end);
    for (let block = first; block < end; block += 1) {
      const isListed = (begun[block] ?? 0) > near.length && isCommon.every((common) => common[block] === 1);
      // All of a phrase that is listed is found now. Of a longer one, its end says where it cannot be.
      isKnown[block] = Number(isListed && mayHave[block] === 0);
    }
    if (context.length > 1) this.#ruleOut(context, { first, end, isKnown });
    return stretchesOf(isKnown, first);
  }

  /**
   * Marks the blocks that cannot have the phrase, by the parts of it that are of common words there, or of such and the beginning of
   * one that is not.
   */
  #ruleOut(words: readonly string[], blocks: Blocks): void {
    const { first, end, isKnown } = blocks;
    if (isKnown.subarray(first).every((known) => known === 1)) return;
    const lists = {
      complete: this.#numbers('complete', first, end),
      begun: this.#numbers('begun', first, end),
      isCommon: words.map((word) => this.#blocksWith(word, first, end)),
    };
    for (let length = 2; length <= Math.min(MAX_GRAM, words.length); length += 1) {
      for (let start = 0; start + length <= words.length; start += 1) {
        this.#ruleOutPart(words, { start, length }, lists, blocks);
      }
    }
  }

  /** The same by one part of the phrase. */
  #ruleOutPart(
    words: readonly string[],
    { start, length }: { readonly start: number; readonly length: number },
    { complete, begun, isCommon }: Lists,
    { first, end, isKnown }: Blocks,
  ): void {
    const at = start + length - 1;
    const before = words
      .slice(start, at)
      .map((word) => `${word} `)
      .join('');
    const last = words[at] ?? '';
    const has = this.#blocksWith(before + last, first, end);
    const hasBegun = this.#blocksWith(before + begunSign(longestListed(last)), first, end);
    const commonBefore = isCommon.slice(start, at);
    for (let block = first; block < end; block += 1) {
      if (isKnown[block] === 1 || !commonBefore.every((common) => common[block] === 1)) continue;
      const [isThere, listed] = isCommon[at]?.[block] === 1 ? [has, complete] : [hasBegun, begun];
      if (isThere[block] === 0 && (listed[block] ?? 0) >= length) isKnown[block] = 1;
    }
  }

  #blocksWith(gram: string, first: number, end: number): Uint8Array {
    const has = new Uint8Array(end);
    this.#markBlocks(has, gram, first);
    return has;
  }

  #markBlocks(has: Uint8Array, gram: string, first: number): void {
    for (const block of this.#selectBlocks.all(gram, first, has.length)) has[block] = 1;
  }

  /** What `blocks` says of each block. */
  #numbers(column: 'complete' | 'begun', first: number, end: number): Uint8Array {
    const numbers = new Uint8Array(end);
    const rows = this.#database
      .prepare<[number, number], { block: number; number: number }>(
        `SELECT block, ${column} AS number FROM blocks WHERE block >= ? AND block < ?`,
      )
      .iterate(first, end);
    for (const row of rows) numbers[row.block] = row.number;
    return numbers;
  }
}

/** What a phrase with an open end is listed under: each word that it may go on in, and its beginning for all others. */
function gramsOf({ context, beginning, goesOn }: BegunPhrase): string[] {
  const before = context.map((word) => `${word} `).join('');
  return [`${before}${begunSign(beginning)}`, ...goesOn.map((word) => before + word)];
}

/** Blocks from `first` to before `end`; those marked need not be searched. */
interface Blocks {
  readonly first: number;
  readonly end: number;
  readonly isKnown: Uint8Array;
}

/** What blocks list: phrases of up to which length, whole and with an open end, and each word of a phrase where it is common. */
interface Lists {
  readonly complete: Uint8Array;
  readonly begun: Uint8Array;
  readonly isCommon: readonly Uint8Array[];
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
