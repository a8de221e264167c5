/** Closed list of the errors that a user can meet. */
export const ERROR_CODES = [
  'usage',
  'config-invalid',
  'run-not-found',
  'run-locked',
  'run-unwritable',
  'run-too-new',
  'run-not-live',
  'checkpoint-corrupt',
  'checkpoint-missing',
  'episode-not-found',
  'episode-dropped',
  'filter-invalid',
  'sql-invalid',
  'knob-invalid',
  'segment-corrupt',
  'store-failed',
  'disk-full',
  'protocol-invalid',
  'child-failed',
  'host-unreachable',
  'graph-invalid',
  'environment-invalid',
  'internal',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

export interface LabErrorDetails {
  /** What was wrong, on what, with the value got and wanted. */
  readonly message: string;
  /** What the user can do next; one sentence. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/** An error that says what failed, on what, and what to do. `code` is stable; the text is for people. */
export class LabError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, details: LabErrorDetails) {
    super(details.message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'LabError';
    this.code = code;
    this.hint = details.hint;
  }
}

/** The message of anything thrown, for use inside another message. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The same with the next step, if it names one: for where there is room for one line only. */
export function errorWithHint(thrown: unknown): string {
  const hint = thrown instanceof LabError ? thrown.hint : undefined;
  return hint === undefined ? errorText(thrown) : `${errorText(thrown)} (${hint})`;
}

/** The `code` of a Node system error ('ENOENT', …), or undefined. */
export function systemErrorCode(thrown: unknown): string | undefined {
  if (thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string') return thrown.code;
  return undefined;
}
