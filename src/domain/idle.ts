import type { IterationMetrics } from './run.ts';

/** Shares of wall clock, evaluations apart, in [0, 1]. */
export interface IdleShares {
  /** The trainer waited for a batch. */
  readonly trainer: number;
  /** Samplers stood still; slowed down to a half, every second second counts. */
  readonly samplers: number;
}

type Row = Pick<IterationMetrics, 'elapsedS' | 'sampleS' | 'evalS' | 'heldS'>;

/** How long trainer and samplers could not work, over all rows but the first: that one waits for its first episodes. Null for fewer than two. */
export function idleShares(rows: readonly Row[]): IdleShares | null {
  const [first, ...rest] = rows;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) return null;
  let [waited, held, evaluated] = [0, 0, 0];
  for (const { sampleS, heldS, evalS } of rest) {
    waited += sampleS;
    held += heldS;
    evaluated += evalS;
  }
  const wallS = last.elapsedS - first.elapsedS - evaluated;
  return wallS > 0 ? { trainer: waited / wallS, samplers: held / wallS } : null;
}
