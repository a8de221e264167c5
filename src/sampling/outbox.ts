import type { Attachments } from '../protocol/frame.ts';
import type { FromWorker } from '../protocol/worker.ts';

/** The worker's end of the pipe to its run. */
export interface Pipe {
  send(message: FromWorker, attachments?: Attachments): void;
  /** Bytes sent that the system has not yet taken. */
  readonly queuedBytes: number;
}

interface Waiting {
  readonly message: FromWorker;
  readonly attachments: Attachments | undefined;
  readonly bytes: number;
}

/** So much is given to the pipe at a time: what has been given cannot be overtaken any more. */
const CHUNK_BYTES = 128 * 1024;

/** What is of no use when it is late. News of leaks is not among it: it tells of the episodes sent before. */
const URGENT: ReadonlySet<FromWorker['type']> = new Set(['claim', 'report', 'slots']);

/**
 * What a worker sends, in two classes: episodes wait here for room in the pipe, what is urgent goes before them. A batch of a
 * few hundred slots ends more episodes than a pipe holds, and a run that is busy storing leaves megabytes of them unread; a
 * claim behind them would be answered seconds late, with its slots empty meanwhile.
 */
export class Outbox {
  readonly #pipe: Pipe;
  readonly #inOrder: boolean;
  #waiting: Waiting[] = [];
  #bytes = 0;

  /** `inOrder`: nothing overtakes anything. */
  constructor(pipe: Pipe, inOrder: boolean) {
    this.#pipe = pipe;
    this.#inOrder = inOrder;
  }

  /** Bytes that the system has not yet taken, those that wait here among them. */
  get queuedBytes(): number {
    return this.#bytes + this.#pipe.queuedBytes;
  }

  send(message: FromWorker, attachments?: Attachments): void {
    if (this.#inOrder || URGENT.has(message.type)) {
      this.#pipe.send(message, attachments);
      return;
    }
    const bytes = message.type === 'episode' ? message.bytes : 0;
    this.#waiting.push({ message, attachments, bytes });
    this.#bytes += bytes;
    this.drain();
  }

  /** The pipe has taken what was given to it, or some of it: gives it more. */
  drain(): void {
    let sent = 0;
    for (const { message, attachments, bytes } of this.#waiting) {
      if (this.#pipe.queuedBytes >= CHUNK_BYTES) break;
      this.#pipe.send(message, attachments);
      this.#bytes -= bytes;
      sent++;
    }
    if (sent > 0) this.#waiting.splice(0, sent);
  }
}
