import { z } from 'zod';
import { helloSchema } from './version.ts';

/**
 * Run process → text indexer. `finish`: take in what there is, for at most so many ms, and end. `share` is the most of a
 * core that it may use until then.
 */
export const toIndexerSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('start'),
    runs: z.string(),
    run: z.string(),
    share: z.number().positive().max(1),
  }),
  z.object({ type: z.literal('finish'), ms: z.int().nonnegative() }),
]);
export type ToIndexer = Readonly<z.infer<typeof toIndexerSchema>>;

/** Text indexer → run process. */
export const fromIndexerSchema = z.discriminatedUnion('type', [
  helloSchema,
  /** Episodes that can be searched, and bytes of segments still to be taken in. */
  z.object({
    type: z.literal('progress'),
    episodes: z.int().nonnegative(),
    behindBytes: z.int().nonnegative(),
  }),
  /** It cannot go on, for this reason, and ends. */
  z.object({ type: z.literal('stopped'), reason: z.string() }),
]);
export type FromIndexer = Readonly<z.infer<typeof fromIndexerSchema>>;
