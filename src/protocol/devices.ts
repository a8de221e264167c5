import { z } from 'zod';
import { PROVIDERS } from '../domain/provider.ts';
import { helloSchema } from './version.ts';

/** Command → the process that tries one execution provider: one question, one answer. */
export const toProbeSchema = z.object({ type: z.literal('probe'), provider: z.enum(PROVIDERS) });
export type ToProbe = Readonly<z.infer<typeof toProbeSchema>>;

export const fromProbeSchema = z.discriminatedUnion('type', [
  helloSchema,
  z.object({
    type: z.literal('probed'),
    /** ms of one run of a small model, or null when it does not work. */
    ms: z.number().nullable(),
    /** Why it does not work. */
    reason: z.string().nullable(),
    engine: z.object({
      /** Version of onnxruntime. */
      version: z.string(),
      /** Providers that its build for this platform knows. */
      known: z.array(z.string()),
      /** Where its libraries are. */
      folder: z.string(),
    }),
  }),
]);
export type FromProbe = Readonly<z.infer<typeof fromProbeSchema>>;
