import { z } from 'zod';
import { failureSchema } from './failure.ts';
import { helloSchema } from './version.ts';

/**
 * Command → the process that runs a query: one question, one answer. It stands apart so that a query that takes too long
 * can be ended: SQLite computes on the thread that asks.
 */
export const toSqlSchema = z.object({
  type: z.literal('sql'),
  /** The run itself, then those attached beside it. */
  runs: z.tuple(
    [z.object({ id: z.string(), database: z.string() })],
    z.object({ id: z.string(), database: z.string() }),
  ),
  sql: z.string(),
  limit: z.int().positive(),
});
export type ToSql = Readonly<z.infer<typeof toSqlSchema>>;

export const fromSqlSchema = z.discriminatedUnion('type', [
  helloSchema,
  z.object({
    type: z.literal('rows'),
    columns: z.array(z.string()),
    rows: z.array(z.array(z.union([z.string(), z.number(), z.null()]))),
    truncated: z.boolean(),
  }),
  failureSchema,
]);
export type FromSql = Readonly<z.infer<typeof fromSqlSchema>>;
