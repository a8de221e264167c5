import { z } from 'zod';
import { ERROR_CODES, errorText, LabError } from '../domain/error.ts';

/** An error on its way to another process. */
export const sentErrorSchema = z.object({
  code: z.enum(ERROR_CODES),
  message: z.string(),
  hint: z.string().nullable(),
});
type SentError = Readonly<z.infer<typeof sentErrorSchema>>;

/** The last word of a process that was asked one thing, and could not do it. */
export const failureSchema = sentErrorSchema.extend({ type: z.literal('failed') });

/** What was thrown, as it is sent. */
export function sentError(thrown: unknown): SentError {
  const error = thrown instanceof LabError ? thrown : null;
  return { code: error?.code ?? 'internal', message: errorText(thrown), hint: error?.hint ?? null };
}

/** What was sent, as it is thrown again. */
export function receivedError({ code, message, hint }: SentError): LabError {
  return new LabError(code, hint === null ? { message } : { message, hint });
}
