import { z } from 'zod';

/** Episodes whose states are hashed after each step. */
export const STATES_RECORDED = ['none', 'eval', 'all'] as const;

/** What the record of a step holds beside what happened in it. */
export const recordRuleSchema = z.strictObject({
  /** So many of the likeliest actions; 0: none. */
  likeliest: z.int().min(0).max(10).default(3),
  states: z.enum(STATES_RECORDED).default('eval'),
});
export type RecordRule = Readonly<z.output<typeof recordRuleSchema>>;
