import { z } from 'zod';
import { episodeIdSchema } from './id.ts';

/** What a slot showed after a reset; the texts are of lines around the first difference. */
const resetSideSchema = z.object({
  /** Of the whole first observation and the whole state. */
  sha256: z.string(),
  /** The first line that differs; null where the other side has more lines. */
  line: z.string().nullable(),
  text: z.string(),
});

/** A slot that was used before began an episode otherwise than a new one: something of an earlier episode is left in it. */
export const resetDifferenceSchema = z.object({
  family: z.string(),
  episode: episodeIdSchema,
  slot: z.int().nonnegative(),
  /** What differs: the first observation, or, where that is the same, the state behind it. */
  part: z.enum(['observation', 'state']),
  /** Number of the first line that differs, from 1 in that part. */
  line: z.int().positive(),
  recycled: resetSideSchema,
  fresh: resetSideSchema,
});
export type ResetDifference = Readonly<z.infer<typeof resetDifferenceSchema>>;

/** A family that was found to leak: its slots are rebuilt for every episode. */
export const leakSchema = z.object({
  family: z.string(),
  /** When it was found, ms since the epoch. */
  time: z.number(),
  /** The episode in which it showed. */
  episode: z.string(),
  /** One line. */
  message: z.string(),
});
export type Leak = Readonly<z.infer<typeof leakSchema>>;

/** How often resets of used slots are audited; share 0 turns it off. */
export const auditRuleSchema = z.strictObject({
  /** Share of the resets, drawn at random. */
  share: z.number().min(0).max(1).default(0.01),
  /** And one of a family when none of it was audited for so many seconds. */
  everyS: z.number().positive().max(86_400).default(5),
});
export type AuditRule = Readonly<z.infer<typeof auditRuleSchema>>;
