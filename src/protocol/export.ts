import { z } from 'zod';
import { policySpecSchema } from '../domain/policy-spec.ts';
import { failureSchema } from './failure.ts';
import { helloSchema } from './version.ts';

/** Where an exported policy comes from. */
export const exportOriginSchema = z.object({
  run: z.string(),
  iteration: z.int().nonnegative(),
  policyVersion: z.int().nonnegative(),
  env: z.string(),
  labVersion: z.string(),
});
export type ExportOrigin = Readonly<z.infer<typeof exportOriginSchema>>;

/** Command → the process that makes an export: one question, one answer. Attachment `weights`: float32, the policy's order. */
export const toExporterSchema = z.object({
  type: z.literal('export'),
  policy: policySpecSchema,
  origin: exportOriginSchema,
});
export type ToExporter = Readonly<z.infer<typeof toExporterSchema>>;

/** `exported` carries the files as attachments, by name. */
export const fromExporterSchema = z.discriminatedUnion('type', [
  helloSchema,
  z.object({ type: z.literal('exported') }),
  failureSchema,
]);
export type FromExporter = Readonly<z.infer<typeof fromExporterSchema>>;
