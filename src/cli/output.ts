import { type ErrorCode, errorText, LabError, systemErrorCode } from '../domain/error.ts';
import { visibleText } from '../domain/visible-text.ts';
import { completeCommands } from './lab-command.ts';

/** What the command's exit status says. A command ended by a signal gives 128 + its number, as shells do. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

const USAGE_CODES: ReadonlySet<ErrorCode> = new Set([
  'usage',
  'config-invalid',
  'filter-invalid',
  'sql-invalid',
  'knob-invalid',
]);
const ERASE_LINE = '\r\u001B[K';
/** 128 + SIGPIPE. */
const BROKEN_PIPE = 141;

/** Time between two progress lines where they cannot be replaced. */
const PROGRESS_INTERVAL_MS = 15_000;
let progressPrintedAt = Date.now();
let progressShown = false;

/** One line for the reader, on stdout. */
export function printLine(text: string): void {
  clearProgress();
  process.stdout.write(`${text}\n`);
}

/** One value as one line of JSON, on stdout. */
export function printJson(value: unknown): void {
  clearProgress();
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Something about the command rather than of its result: on stderr. */
export function printNote(text: string): void {
  clearProgress();
  process.stderr.write(`${text}\n`);
}

/** A line that the next output replaces, cut to the width of the terminal; without one, a line every now and then. */
export function showProgress(text: string): void {
  if (!process.stderr.isTTY) {
    if (Date.now() - progressPrintedAt < PROGRESS_INTERVAL_MS) return;
    progressPrintedAt = Date.now();
    process.stderr.write(`${text}\n`);
    return;
  }
  process.stderr.write(ERASE_LINE + text.slice(0, Math.max(0, process.stderr.columns - 1)));
  progressShown = true;
}

/** Takes the progress line away. */
export function clearProgress(): void {
  if (!progressShown) return;
  process.stderr.write(ERASE_LINE);
  progressShown = false;
}

/** Says what went wrong, on stderr, as text or as one JSON object; returns the exit code. */
export function printError(thrown: unknown, json: boolean): number {
  const error = asLabError(thrown);
  if (json) {
    const { code, message, hint } = error;
    const complete = hint === undefined ? null : completeCommands(hint);
    printNote(JSON.stringify({ error: { code, message: completeCommands(message), hint: complete } }));
  } else {
    printNote(`agentrl-lab: ${visibleLines(completeCommands(error.message))}`);
    if (error.hint !== undefined) printNote(`  → ${visibleLines(completeCommands(error.hint))}`);
    if (error.code === 'internal' && thrown instanceof Error) printNote(thrown.stack ?? '');
  }
  return USAGE_CODES.has(error.code) ? EXIT.usage : EXIT.failed;
}

function visibleLines(text: string): string {
  return text.split('\n').map(visibleText).join('\n');
}

function asLabError(thrown: unknown): LabError {
  if (thrown instanceof LabError) return thrown;
  return new LabError('internal', { message: `internal error: ${errorText(thrown)}`, cause: thrown });
}

/** Ends the command quietly when whoever reads its output has gone, as in `agentrl-lab ls | head -1`. */
export function endWhenReaderGoes(): void {
  process.stdout.on('error', (error) => {
    if (systemErrorCode(error) === 'EPIPE') process.exit(BROKEN_PIPE);
    throw error;
  });
}
