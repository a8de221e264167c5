import { duration } from '../domain/figure-text.ts';
import type { PipelineStage, Stall } from '../domain/pipeline.ts';

/** What can be wrong with a worker, the most telling first. */
const TROUBLES = {
  stuck: ({ work, slot }) => `stuck in ${work}, slot ${slot ?? '?'}`,
  silent: () => 'silent',
  unacknowledged: () => 'waiting for the store to take episodes',
  waiting: ({ work, slot }) => `waiting for a ${work} in every slot, the oldest in slot ${slot ?? '?'}`,
  asking: () => 'in one inference call',
  unfed: () => 'waiting for tasks',
  absent: () => 'not up',
  idle: () => 'doing nothing',
} as const satisfies Record<string, (trouble: Pick<Trouble, 'work' | 'slot'>) => string>;
export type TroubleKind = keyof typeof TROUBLES;

/** Why nothing comes from a worker. */
export interface Trouble {
  readonly kind: TroubleKind;
  readonly worker: string;
  readonly stage: PipelineStage;
  /** What its environment is at. */
  readonly work: string;
  readonly slot: number | null;
  readonly ageMs: number;
}

/**
 * The stall that the worst of these troubles make: `who` waits for the workers that have it, of which the one that has had it
 * longest is named. Null where there is none.
 */
export function stallOf(who: string, troubles: readonly Trouble[]): Stall | null {
  const order = Object.keys(TROUBLES);
  const [worst] = troubles.toSorted(
    (a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || b.ageMs - a.ageMs,
  );
  if (worst === undefined) return null;
  const same = troubles.filter(({ kind }) => kind === worst.kind).length;
  const whom = same === 1 ? worst.worker : `${same} workers`;
  const message = `${who}: ${whom} ${TROUBLES[worst.kind](worst)}, ${duration(worst.ageMs)}`;
  return { stage: worst.stage, message, ageMs: worst.ageMs };
}
