import { BEHAVIOUR_NAMES } from '../../domain/failure.ts';
import { behaviourMask } from '../episode-row.ts';
import { countCodes, countCommon, countRows, type RowBits } from './bits.ts';
import type { Column } from './column.ts';
import type { BlockColumn } from './episode-cells.ts';
import type { MatchedRows } from './kept-matches.ts';

/** How many episodes have a value; null for those without one. */
export interface ValueCount {
  readonly value: string | null;
  readonly count: number;
}

/** How many episodes have a number from `from` to before `to`; to `to` itself in the last band. */
export interface BandCount {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** How the episodes of a filter are distributed. Counts of values descend. */
export interface EpisodeFacets {
  readonly count: number;
  /** By failure type; null: they succeeded. */
  readonly failures: readonly ValueCount[];
  readonly families: readonly ValueCount[];
  readonly hosts: readonly ValueCount[];
  /** By behaviour that was seen in them: an episode may be counted several times, and most are not at all. */
  readonly behaviours: readonly ValueCount[];
  /** Bands of iterations and of reward that hold something or lie between such. */
  readonly iterations: readonly BandCount[];
  readonly rewards: readonly BandCount[];
  /** Episodes without a reward. */
  readonly withoutReward: number;
}

const BANDS = 20;

/** Counts matching rows along the ways that one looks at a run. */
export function countFacets(matched: readonly MatchedRows[]): EpisodeFacets {
  const rewards = countNumbers(matched, 'reward');
  const count = matched.reduce((sum, { bits }) => sum + countRows(bits), 0);
  let rewarded = 0;
  for (const { numbers, counts } of rewards) {
    for (let code = 0; code < numbers.length; code += 1) rewarded += counts[code] ?? 0;
  }
  return {
    count,
    failures: countTexts(matched, 'failure'),
    families: countTexts(matched, 'family'),
    hosts: countTexts(matched, 'host'),
    behaviours: countBehaviours(matched),
    iterations: bands(countNumbers(matched, 'iteration'), 1),
    rewards: bands(rewards, 0),
    withoutReward: count - rewarded,
  };
}

/** How many matching rows have each value of a column of text, most first. */
export function countTexts(matched: readonly MatchedRows[], column: BlockColumn): ValueCount[] {
  const totals = new Map<string | null, number>();
  for (const rows of matched) {
    const held = rows.block.columns.get(column);
    const counts = held === undefined ? Uint32Array.of(countRows(rows.bits)) : countsOf(held, rows);
    // Not by entries(): a pair for each code of each block is more than all else that a question makes.
    for (let code = 0; code < counts.length; code += 1) {
      const count = counts[code] ?? 0;
      const value = held?.texts[code] ?? null;
      if (count > 0) totals.set(value, (totals.get(value) ?? 0) + count);
    }
  }
  return byCount(totals);
}

const BEHAVIOUR_BITS = BEHAVIOUR_NAMES.map((name) => [name, behaviourMask([name])] as const);

function countBehaviours(matched: readonly MatchedRows[]): ValueCount[] {
  const totals = new Map<string, number>();
  for (const { numbers: masks, counts } of countNumbers(matched, 'behaviours')) {
    for (const [name, bit] of BEHAVIOUR_BITS) {
      let count = 0;
      for (let code = 0; code < masks.length; code += 1) {
        if (((masks[code] ?? 0) & bit) !== 0) count += counts[code] ?? 0;
      }
      if (count > 0) totals.set(name, (totals.get(name) ?? 0) + count);
    }
  }
  return byCount(totals);
}

function byCount(counts: ReadonlyMap<string | null, number>): ValueCount[] {
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .toSorted((left, right) => right.count - left.count);
}

/** Per block: how many matching rows have each of a column's values. */
interface NumberCounts {
  readonly numbers: Float64Array;
  /** By code; that of missing ones, if there is one, is beyond the numbers. */
  readonly counts: Uint32Array;
}

function countNumbers(matched: readonly MatchedRows[], name: BlockColumn): NumberCounts[] {
  return matched.flatMap((rows) => {
    const column = rows.block.columns.get(name);
    if (column === undefined) return [];
    return [{ numbers: column.numbers, counts: countsOf(column, rows) }];
  });
}

/** Blocks of fewer words of bits are counted faster than they are looked up. */
const LEAST_WORDS = 64;

/** How many of some rows have each of a column's codes: of those that are kept, counted once, since a screen asks for the same once a second. */
function countsOf(column: Column, rows: MatchedRows): Uint32Array {
  if (rows.bits.length < LEAST_WORDS) return countColumn(column, rows.bits);
  rows.counted ??= new Map();
  const counts = rows.counted.get(column) ?? countColumn(column, rows.bits);
  rows.counted.set(column, counts);
  return counts;
}

/** Rows beyond which sets are compared whole, by code: a row that is looked at by itself takes as long as so many words. */
const WORDS_A_ROW = 3;

function countColumn({ codes, codeCount, sets }: Column, bits: RowBits): Uint32Array {
  if (codes === null) return Uint32Array.of(countRows(bits));
  if (sets === null || countRows(bits) * WORDS_A_ROW <= codeCount * bits.length)
    return countCodes(bits, codes, codeCount);
  const counts = new Uint32Array(codeCount);
  for (let code = 0; code < codeCount; code += 1) {
    const set = sets[code];
    if (set !== undefined) counts[code] = countCommon(bits, set);
  }
  return counts;
}

/** Counts numbers in at most BANDS bands and one, of a round width, at least `least` wide. */
function bands(blocks: readonly NumberCounts[], least: number): BandCount[] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { numbers, counts } of blocks) {
    // They ascend: the first and the last that occur are the ends.
    const first = numbers.findIndex((_, code) => (counts[code] ?? 0) > 0);
    if (first < 0) continue;
    const last = numbers.findLastIndex((_, code) => (counts[code] ?? 0) > 0);
    low = Math.min(low, numbers[first] ?? 0);
    high = Math.max(high, numbers[last] ?? 0);
  }
  if (low > high) return [];
  const width = roundWidth((high - low) / BANDS, least);
  const first = Math.floor(low / width);
  const totals = Array.from({ length: Math.max(1, Math.floor(high / width) - first + 1) }, () => 0);
  for (const { numbers, counts } of blocks) {
    for (let code = 0; code < numbers.length; code += 1) {
      const count = counts[code] ?? 0;
      if (count === 0) continue;
      const band = Math.floor((numbers[code] ?? 0) / width) - first;
      totals[band] = (totals[band] ?? 0) + count;
    }
  }
  return totals.map((count, band) => ({
    from: rounded((first + band) * width),
    to: rounded((first + band + 1) * width),
    count,
  }));
}

/** The least of 1, 2 and 5 times a power of ten that is not below a width. */
function roundWidth(width: number, least: number): number {
  const wanted = Math.max(width, least, 1e-9);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return rounded(([1, 2, 5, 10].find((times) => times * power >= wanted * (1 - 1e-9)) ?? 10) * power);
}

function rounded(value: number): number {
  return Number(value.toPrecision(12));
}
