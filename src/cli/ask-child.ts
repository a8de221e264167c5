import { spawn } from 'node:child_process';
import type { z } from 'zod';
import { errorText } from '../domain/error.ts';
import { type EntryName, entryCommand } from '../hosts/entries.ts';
import { connect } from '../protocol/connection.ts';
import type { Attachments } from '../protocol/frame.ts';

/** Characters kept of what a child writes on stderr. */
const MOST_STDERR = 8192;

export interface Question<Answer> {
  readonly entry: EntryName;
  readonly message: object;
  readonly attachments?: Attachments;
  /** Of everything that the child may say; its `hello` is no answer. */
  readonly schema: z.ZodType<Answer>;
  /** Null: it may take as long as it takes. */
  readonly timeoutMs: number | null;
  /** Told of all that it says; false for what the answer is still to follow. */
  readonly isAnswer?: (message: Answer, attachments: Attachments) => boolean;
  /** Gives the question up. */
  readonly signal?: AbortSignal;
  /** How long one that has started processes itself has to end them and itself, ms. */
  readonly graceMs?: number;
}

/** An answer, or how the child ended without one; with what it wrote on stderr. */
export type Reply<Answer> =
  | { readonly answer: Answer; readonly attachments: Attachments; readonly stderr: string }
  | { readonly answer: null; readonly ended: string; readonly stderr: string };

/**
 * Starts a process of the lab's own for one question, and ends it when it has answered. It stands apart because it runs
 * native code that may crash, or compute for too long. Rejects with what `isAnswer` throws.
 */
export async function askChild<Answer extends { readonly type: string }>(
  question: Question<Answer>,
): Promise<Reply<Answer>> {
  const { entry, message, attachments, schema, timeoutMs, isAnswer, signal, graceMs = 0 } = question;
  const [program, ...args] = entryCommand(entry);
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (stderr.length < MOST_STDERR) stderr += chunk.toString();
  });
  return await new Promise((resolve, reject) => {
    let isOver = false;
    const finish = (settle: () => void): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      settle();
      if (graceMs === 0) child.kill('SIGKILL');
      else {
        // The end of its input is what it ends at.
        connection.close();
        const late = setTimeout(() => child.kill('SIGKILL'), graceMs);
        child.once('close', () => clearTimeout(late));
      }
    };
    const fail = (ended: string): void => finish(() => resolve({ answer: null, ended, stderr }));
    const giveUp = (): void => fail('it was given up');
    const timer =
      timeoutMs === null
        ? undefined
        : setTimeout(() => fail(`it did not answer within ${timeoutMs / 1000} s`), timeoutMs);
    signal?.addEventListener('abort', giveUp, { once: true });
    child.once('error', (error) => fail(`it could not be started: ${errorText(error)}`));
    // Not 'exit': what it has written may still be on its way.
    child.once('close', (code, how) => fail(`it ended with ${how ?? `code ${code}`}`));
    const connection = connect<Answer, object>({
      input: child.stdout,
      output: child.stdin,
      schema,
      onMessage: (answer, received) => {
        if (isOver || answer.type === 'hello') return;
        try {
          if (isAnswer?.(answer, received) === false) return;
        } catch (thrown) {
          finish(() => reject(thrown));
          return;
        }
        finish(() => resolve({ answer, attachments: received, stderr }));
      },
      onClose: (error) => {
        if (error !== null) fail(error.message);
      },
    });
    connection.send(message, attachments);
  });
}
