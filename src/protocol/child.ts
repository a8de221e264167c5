import type { z } from 'zod';
import { LAB_VERSION } from '../domain/lab-version.ts';
import { type Connection, connect } from './connection.ts';
import type { Attachments } from './frame.ts';
import { type Hello, PROTOCOL_VERSION } from './version.ts';

/** How long a child that was told to end, or lost its parent, may take before it ends itself. */
const EXIT_GRACE_MS = 2000;

export interface ChildOptions<Incoming> {
  readonly schema: z.ZodType<Incoming>;
  readonly onMessage: (message: Incoming, attachments: Attachments) => void;
  /** Clean up; the process ends afterwards. Also called when the parent goes away. */
  readonly onEnd: () => Promise<void> | void;
  /** The system has taken what was sent. */
  readonly onDrain?: () => void;
}

/**
 * The child's end of the stream to the run process: stdin and stdout carry frames, so `process.stdout` is stderr from now on.
 * Says hello, and ends the process when the parent closes the stream or sends something invalid.
 */
export function connectToParent<Incoming, Outgoing extends { readonly type: string }>(
  options: ChildOptions<Incoming>,
): Connection<Outgoing | Hello> {
  let ending = false;
  const end = (code: number): void => {
    if (ending) return;
    ending = true;
    setTimeout(() => process.exit(code), EXIT_GRACE_MS).unref();
    void Promise.resolve(options.onEnd()).finally(() => process.exit(code));
  };
  const output = process.stdout;
  // Whatever an environment prints goes to the log: among the frames it would end the connection.
  Object.defineProperty(process, 'stdout', { configurable: true, get: () => process.stderr });
  const connection = connect<Incoming, Outgoing | Hello>({
    input: process.stdin,
    output,
    schema: options.schema,
    onMessage: options.onMessage,
    onDrain: () => options.onDrain?.(),
    onClose: (error) => {
      if (error !== null) process.stderr.write(`${error.message}\n`);
      end(error === null ? 0 : 1);
    },
  });
  connection.send({ type: 'hello', protocol: PROTOCOL_VERSION, pid: process.pid, version: LAB_VERSION });
  return connection;
}
