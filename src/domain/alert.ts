import { z } from 'zod';
import { METRIC_NAMES } from './metric.ts';

/** Most episodes or iterations that an alert looks back over. */
const MOST = 100_000;
const MOST_S = 7 * 86_400;

const LIMIT = 'a number, or a share as 30%';

/** A count or a value, as a number; a share of the episodes looked at, as `30%`. */
const limitSchema = z.union([z.number(), z.string().regex(/^\d+(?:\.\d+)? ?%$/u, LIMIT)], { error: LIMIT });
export type AlertLimit = z.infer<typeof limitSchema>;

/**
 * Watches episodes (`filter`) or a metric of the iterations (`metric`), exactly one of them, and holds while what it watches is
 * `above` or `below` a limit. What excludes or needs what is checked where configs are (alert-problems.ts): docs/ALERTS.md.
 */
export const alertRuleSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][\w-]{0,39}$/u, 'letters, digits, "-" and "_", 40 at most'),
  filter: z.string().optional(),
  /** A filter too: of which episodes a share or a count is taken. */
  among: z.string().optional(),
  metric: z.enum(METRIC_NAMES).optional(),
  /** Over the newest so many episodes, or iterations. */
  last: z.int().min(1).max(MOST).optional(),
  /** Or over so many seconds of running time. */
  withinS: z.number().min(1).max(MOST_S).optional(),
  above: limitSchema.optional(),
  below: limitSchema.optional(),
  /** Seconds from one beginning to the next, at least. */
  cooldownS: z.number().min(0).max(MOST_S).default(300),
});
export type AlertRule = Readonly<z.infer<typeof alertRuleSchema>>;

/** The number of a limit, and whether it is a share in [0, 1]. */
export function readLimit(limit: AlertLimit): { readonly value: number; readonly isShare: boolean } {
  if (typeof limit === 'number') return { value: limit, isShare: false };
  return { value: Number.parseFloat(limit) / 100, isShare: true };
}
