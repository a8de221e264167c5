import { z } from 'zod';

/** What an action came to that made a tool run. */
export const toolUseSchema = z.object({
  name: z.string(),
  /** False: the tool refused, or failed. */
  ok: z.boolean(),
  /** How long it ran, ms, where the environment knows. Not part of what has to be the same in another execution. */
  ms: z.number().nonnegative().optional(),
  /** How often it was tried, where it was tried again; 1 if absent. */
  attempts: z.int().positive().optional(),
});
export type ToolUse = Readonly<z.infer<typeof toolUseSchema>>;

/** A call of a tool to something outside its environment, and what came of it: a result, or an error. Plain JSON. */
export const recordedCallSchema = z.object({
  tool: z.string(),
  request: z.unknown(),
  result: z.unknown().optional(),
  error: z.string().optional(),
  /** Until the answer was there. */
  ms: z.number().nonnegative(),
});
export type RecordedCall = Readonly<z.infer<typeof recordedCallSchema>>;

const toolCountSchema = z.object({
  calls: z.int().nonnegative(),
  failed: z.int().nonnegative(),
  /** Sum of the lengths that the environment gave; absent where it gave none. */
  ms: z.number().nonnegative().optional(),
});
export type ToolCount = Readonly<z.infer<typeof toolCountSchema>>;

/** How often tools ran in an episode: all together, and each one. */
export const toolStatisticsSchema = z.object({
  calls: z.int().nonnegative(),
  failed: z.int().nonnegative(),
  byName: z.record(z.string(), toolCountSchema),
});
export type ToolStatistics = Readonly<z.infer<typeof toolStatisticsSchema>>;
export const NO_TOOLS: ToolStatistics = { calls: 0, failed: 0, byName: {} };
