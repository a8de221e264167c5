import { errorText, LabError } from '../src/domain/error.ts';

/** Ms that a message stays. */
export const TOAST_MS = 6000;

/** A message of the app itself. */
export interface Toast {
  readonly text: string;
  readonly tone: 'good' | 'bad' | 'plain';
  /** Ms since the epoch when it goes. */
  readonly until: number;
}

/** What went wrong and what to do, in one line. */
export function problemText(thrown: unknown): string {
  const hint = thrown instanceof LabError && thrown.hint !== undefined ? `; ${thrown.hint}` : '';
  return `${errorText(thrown)}${hint}`;
}
