import type { ComparisonQuestion } from '../protocol/compare.ts';
import type { AlignedRows } from './aligned-rows.ts';
import type { Comparison } from './compare.ts';

export type { ComparisonQuestion } from '../protocol/compare.ts';

/** What a comparison came to, without the differences one by one. */
export type Outcome = Pick<Comparison, 'verdict' | 'reason' | 'notes'>;

/** Two long executions that were compared. */
export interface LongComparison {
  readonly rows: AlignedRows;
  /** Null for two episodes, which have none. */
  readonly outcome: Outcome | null;
}

/**
 * Compares episodes of a run in a process of its own; tells how many of all steps are compared. Null when it was given up. Rejects
 * with what reading or doing an episode again throws.
 */
export type CompareApart = (
  runId: string,
  question: ComparisonQuestion,
  how: { readonly onProgress: (step: number, of: number) => void; readonly signal: AbortSignal },
) => Promise<LongComparison | null>;
