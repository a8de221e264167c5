import type { Readable, Writable } from 'node:stream';
import type { z } from 'zod';
import { LabError } from '../domain/error.ts';
import { type Attachments, encodeFrame, type Frame, FrameReader, PREAMBLE } from './frame.ts';

export interface ConnectionOptions<Incoming> {
  readonly input: Readable;
  readonly output: Writable;
  /** What is said of a message by its attachments is put into it before it is validated; absent: nothing is. */
  readonly unpack?: ((frame: Frame) => unknown) | undefined;
  /** Validates every incoming message. */
  readonly schema: Pick<z.ZodType<Incoming>, 'safeParse'>;
  readonly onMessage: (message: Incoming, attachments: Attachments) => void;
  /** The peer's stream ended or failed; called once. `error` is set when it sent something invalid. */
  readonly onClose: (error: LabError | null) => void;
  /** The system has taken all of a good deal that was queued. */
  readonly onDrain?: () => void;
}

/** One end of a framed, validated message stream. */
export interface Connection<Outgoing extends object> {
  /** Queues a message; how much may be under way is agreed by the messages themselves. */
  send(message: Outgoing, attachments?: Attachments): void;
  /** Bytes queued and not yet taken by the system. */
  readonly queuedBytes: number;
  close(): void;
}

/** Speaks the frame protocol over a pair of byte streams. */
export function connect<Incoming, Outgoing extends object>(
  options: ConnectionOptions<Incoming>,
): Connection<Outgoing> {
  const { input, output, schema, unpack } = options;
  const reader = new FrameReader();
  let closed = false;
  const close = (error: LabError | null): void => {
    if (closed) return;
    closed = true;
    options.onClose(error);
  };
  input.on('data', (chunk: Buffer) => {
    if (closed) return;
    try {
      for (const frame of reader.push(chunk)) {
        const message = unpack === undefined ? frame.message : unpack(frame);
        const parsed = schema.safeParse(message);
        if (!parsed.success) throw unexpected(message, parsed.error);
        options.onMessage(parsed.data, frame.attachments);
      }
    } catch (thrown) {
      if (!(thrown instanceof LabError)) throw thrown;
      close(thrown);
    }
  });
  input.on('end', () => close(null));
  input.on('close', () => close(null));
  input.on('error', () => close(null));
  // A peer that went away: its end is noticed on the input side, writes to it are dropped.
  output.on('error', () => close(null));
  output.on('drain', () => options.onDrain?.());
  output.write(PREAMBLE);
  let corked = false;
  const uncork = (): void => {
    corked = false;
    output.uncork();
  };
  return {
    send(message, attachments) {
      if (closed || output.destroyed || output.writableEnded) return;
      // One system call for all that is sent in one go: a batch ends dozens of episodes.
      if (!corked) {
        corked = true;
        output.cork();
        process.nextTick(uncork);
      }
      for (const chunk of encodeFrame(message, attachments)) output.write(chunk);
    },
    get queuedBytes() {
      return output.writableLength;
    },
    close() {
      closed = true;
      output.end();
    },
  };
}

function unexpected(message: unknown, error: z.ZodError): LabError {
  const type =
    typeof message === 'object' && message !== null && 'type' in message ? String(message.type) : '?';
  const [issue] = error.issues;
  const where = issue === undefined ? '' : ` at ${issue.path.join('.') || '(root)'}: ${issue.message}`;
  return new LabError('protocol-invalid', {
    message: `message "${type}" is not as agreed${where}`,
    hint: 'both ends must run the same version of agentrl-lab',
  });
}
