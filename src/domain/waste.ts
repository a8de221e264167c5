import { percent } from './figure-text.ts';
import type { Waste } from './pipeline.ts';
import { keysOf } from './table.ts';

/** A kind of wasted time, and what it means. */
export type WasteKind = Exclude<keyof Waste, 'useful'>;

/** What became of the time, in the words of the screen and of every line about it. */
export const WASTE_WORDS: Readonly<Record<keyof Waste, string>> = {
  useful: 'useful',
  truncated: 'cut short by a limit',
  stale: 'too old or too many',
  void: 'void',
  retried: 'lost and done again',
};

const MEANINGS: Readonly<Record<WasteKind, string>> = {
  stale: `left out of batches as ${WASTE_WORDS.stale}`,
  void: `${WASTE_WORDS.void}: nothing could be scored`,
  truncated: `${WASTE_WORDS.truncated} without success`,
  retried: 'lost with a worker and done again',
};

/** The kind that took most of the time, and its share of all of it in (0, 1]; null while nothing was wasted. */
export function largestWaste(waste: Waste): { readonly kind: WasteKind; readonly share: number } | null {
  const total = wasteTotal(waste);
  let largest: WasteKind | null = null;
  for (const kind of keysOf(MEANINGS)) {
    if (waste[kind] > (largest === null ? 0 : waste[largest])) largest = kind;
  }
  return largest === null ? null : { kind: largest, share: waste[largest] / total };
}

/** One line: how much of the time of training episodes was of use, and what took most of the rest. */
export function describeWaste(waste: Waste): string {
  const total = wasteTotal(waste);
  if (total === 0) return 'no episode yet';
  const useful = `${percent(waste.useful / total)} of the sampling time was of use`;
  const largest = largestWaste(waste);
  if (largest === null) return useful;
  return `${useful}; most of the rest, ${percent(largest.share)}: ${MEANINGS[largest.kind]}`;
}

/** All of the time that training episodes took, in slot-seconds. */
export function wasteTotal({ useful, stale, void: unscored, truncated, retried }: Waste): number {
  return useful + stale + unscored + truncated + retried;
}
