import type { UpdateSpot } from '../../src/protocol/trainer.ts';
import type { Batch, EpisodeSpan } from './batch.ts';
import type { Descended } from './descent.ts';

/** Episodes named in a spot. */
const NAMED_EPISODES = 5;

/**
 * Says where in an update something happened: its minibatch, the KL there, and the episodes whose samples in that minibatch
 * had the largest |log ratio|, each with that of its sample where it was largest. What is not finite comes first, as null.
 */
export function spotOf(
  batch: Batch,
  at: Pick<Descended, 'minibatch' | 'rows' | 'logRatios'>,
  kl: number,
): UpdateSpot {
  const largest = new Map<string, number>();
  for (const [place, row] of at.rows.entries()) {
    const id = episodeAt(batch.episodes, row)?.id;
    const logRatio = at.logRatios[place];
    if (id === undefined || logRatio === undefined) continue;
    if (weight(logRatio) > weight(largest.get(id) ?? 0) || !largest.has(id)) largest.set(id, logRatio);
  }
  const episodes = [...largest]
    .toSorted(([, a], [, b]) => (weight(a) === weight(b) ? 0 : weight(b) - weight(a)))
    .slice(0, NAMED_EPISODES)
    .map(([id, logRatio]) => ({ id, logRatio: Number.isFinite(logRatio) ? logRatio : null }));
  return { minibatch: at.minibatch, kl: Number.isFinite(kl) ? kl : null, episodes };
}

function weight(logRatio: number): number {
  return Number.isNaN(logRatio) ? Number.POSITIVE_INFINITY : Math.abs(logRatio);
}

/** The episode that a row is of; spans lie one after another. */
function episodeAt(spans: readonly EpisodeSpan[], row: number): EpisodeSpan | undefined {
  let low = 0;
  let high = spans.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((spans[middle]?.start ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  return spans[low];
}
