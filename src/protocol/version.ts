import { z } from 'zod';

/**
 * Version of the messages between the run process and its children; both must agree. To be raised with every change of their
 * shapes: test/protocol/version.test.ts notices one.
 */
export const PROTOCOL_VERSION = 4;

/** First message of every child. */
export const helloSchema = z.object({
  type: z.literal('hello'),
  protocol: z.int(),
  pid: z.int(),
  version: z.string(),
});
export type Hello = Readonly<z.infer<typeof helloSchema>>;
