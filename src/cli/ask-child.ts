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
  readonly timeoutMs: number;
}

/** An answer, or how the child ended without one; with what it wrote on stderr. */
export type Reply<Answer> =
  | { readonly answer: Answer; readonly attachments: Attachments; readonly stderr: string }
  | { readonly answer: null; readonly ended: string; readonly stderr: string };

/**
 * Starts a process of the lab's own for one question, and ends it when it has answered. It stands apart because it runs
 * native code that may crash, or compute for too long.
 */
export async function askChild<Answer extends { readonly type: string }>(
  question: Question<Answer>,
): Promise<Reply<Answer>> {
  const { entry, message, attachments, schema, timeoutMs } = question;
  const [program, ...args] = entryCommand(entry);
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (stderr.length < MOST_STDERR) stderr += chunk.toString();
  });
  return await new Promise((resolve) => {
    const settle = (reply: Reply<Answer>): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      resolve(reply);
    };
    const fail = (ended: string): void => settle({ answer: null, ended, stderr });
    const timer = setTimeout(() => fail(`it did not answer within ${timeoutMs / 1000} s`), timeoutMs);
    child.once('error', (error) => fail(`it could not be started: ${errorText(error)}`));
    // Not 'exit': what it has written may still be on its way.
    child.once('close', (code, signal) => fail(`it ended with ${signal ?? `code ${code}`}`));
    const connection = connect<Answer, object>({
      input: child.stdout,
      output: child.stdin,
      schema,
      onMessage: (answer, received) => {
        if (answer.type !== 'hello') settle({ answer, attachments: received, stderr });
      },
      onClose: (error) => {
        if (error !== null) fail(error.message);
      },
    });
    connection.send(message, attachments);
  });
}
