import { z } from 'zod';

/** An alert whose condition holds. */
export const alertStatusSchema = z.object({
  name: z.string(),
  /** When it began, ms since the epoch. */
  since: z.number(),
  /** What was seen when it began, one line. */
  message: z.string(),
  /** The episodes that it is about. */
  filter: z.string(),
});
export type AlertStatus = Readonly<z.infer<typeof alertStatusSchema>>;
