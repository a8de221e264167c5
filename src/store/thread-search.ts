import { Worker } from 'node:worker_threads';
import { type ErrorCode, LabError } from '../domain/error.ts';
import type { RunPaths } from './run-directory.ts';
import type { Answer, Question } from './search-desk.ts';

/** What the thread of search-thread.ts sends back for a question: in the order of the questions. */
export type ThreadReply<Answered = Answer> =
  | { readonly answer: Answered }
  | {
      readonly error: {
        readonly code: ErrorCode;
        readonly message: string;
        readonly hint: string | undefined;
      };
    };

interface Waiting<Answered> {
  readonly resolve: (answer: Answered) => void;
  readonly reject: (error: LabError) => void;
}

/** Asks a thread, by default one that has the index of a run open. It is started with the first question, and again when it has died. */
export class SearchThread<Asked = Question, Answered = Answer> {
  readonly #paths: RunPaths | null;
  readonly #entry: URL;
  #worker: Worker | null = null;
  #waiting: Waiting<Answered>[] = [];

  /** `paths` of the run that it has open, or null for one that is told with every question. */
  constructor(paths: RunPaths | null, entry: URL) {
    this.#paths = paths;
    this.#entry = entry;
  }

  /** Starts the thread, if it is not there yet: the first question then does not wait for that. */
  warm(): void {
    this.#started();
  }

  async ask(question: Asked): Promise<Answered> {
    const worker = this.#started();
    return await new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      worker.postMessage(question);
    });
  }

  /** Ends the thread once it has answered what it was asked. */
  async close(): Promise<void> {
    const worker = this.#worker;
    if (worker === null) return;
    const ended = new Promise((resolve) => {
      worker.once('exit', resolve);
    });
    worker.postMessage(null);
    await ended;
  }

  #started(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(this.#entry, { workerData: this.#paths });
    let reason = 'it ended';
    worker.on('message', (reply: ThreadReply<Answered>) => {
      const waiting = this.#waiting.shift();
      if ('answer' in reply) waiting?.resolve(reply.answer);
      else waiting?.reject(labError(reply.error));
    });
    worker.on('error', (error) => {
      reason = error.message;
    });
    worker.on('exit', () => {
      this.#worker = null;
      const lost = this.#waiting;
      this.#waiting = [];
      for (const { reject } of lost) {
        reject(
          labError({
            code: 'store-failed',
            message: `the thread that reads ${this.#paths?.database ?? 'runs'} is gone: ${reason}`,
            hint: 'ask again: it is started anew',
          }),
        );
      }
    });
    this.#worker = worker;
    return worker;
  }
}

function labError(error: {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string | undefined;
}): LabError {
  const { code, message, hint } = error;
  return new LabError(code, { message, ...(hint === undefined ? {} : { hint }) });
}
