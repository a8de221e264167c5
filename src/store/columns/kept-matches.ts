import { giveBack, lendAllRows, type RowBits } from './bits.ts';
import type { Block } from './block.ts';
import type { Column } from './column.ts';
import type { Matcher } from './match.ts';

/** A block with those of its rows that match a condition. */
export interface MatchedRows {
  readonly block: Block;
  readonly bits: RowBits;
  /** How many of these rows have each code of a column, where that was counted; null before. */
  counted: Map<Column, Uint32Array> | null;
}

/**
 * What matched in each block, for the last few conditions: a screen looks again once a second, and then only what is new is to be
 * found. The sets of a condition that is forgotten serve the next one. Made anew for each question, they were most of what had the
 * collector stop a thread for longer than a question takes.
 */
export class KeptMatches {
  readonly #most: number;
  readonly #kept = new Map<string, Map<Block, MatchedRows>>();

  /** Keeps so many conditions. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Of all blocks, what matches the condition of that name. It is good until the next call: sets are used again. */
  of(name: string, blocks: readonly Block[], matcher: Matcher): MatchedRows[] {
    const before = this.#kept.get(name) ?? new Map<Block, MatchedRows>();
    this.#kept.delete(name);
    for (const [oldest, rows] of this.#kept) {
      if (this.#kept.size < this.#most) break;
      this.#kept.delete(oldest);
      for (const { bits } of rows.values()) giveBack(bits);
    }
    const now = new Map<Block, MatchedRows>();
    const matched = blocks.map((block) => {
      const rows = before.get(block) ?? matchOf(matcher, block);
      before.delete(block);
      now.set(block, rows);
      return rows;
    });
    // Blocks that are no more: of the newest rows, others stand in their place.
    for (const { bits } of before.values()) giveBack(bits);
    this.#kept.set(name, now);
    return matched;
  }
}

function matchOf(matcher: Matcher, block: Block): MatchedRows {
  const bits = lendAllRows(block.rows);
  matcher(block, bits);
  return { block, bits, counted: null };
}
