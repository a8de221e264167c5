import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import type { RunEvent } from '../domain/run.ts';
import { entryCommand } from '../hosts/entries.ts';
import { readLines } from '../hosts/lines.ts';
import { type Connection, connect } from '../protocol/connection.ts';
import { type FromIndexer, fromIndexerSchema, type ToIndexer } from '../protocol/text.ts';

export interface TextFollowerOptions {
  /** The runs directory, and the run's id in it. */
  readonly runs: string;
  readonly run: string;
  readonly onEvent: (level: RunEvent['level'], kind: string, message: string) => void;
  readonly log: (line: string) => void;
}

type Indexer = ChildProcessByStdio<Writable, Readable, Readable>;

/** Most of a core that indexing may take. */
const SHARE = 0.25;
/** Waits before it is started again, ms: doubled from the first to the last. */
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;
/** How long it may take to catch up at the end of a run, and to end after that, ms. */
const FINISH_MS = 4000;
const END_MS = 2000;
/** From so many bytes behind on it is said aloud, until it is as near as the second again. */
const FAR_BEHIND = 64 * 1024 * 1024;
const NEAR = 8 * 1024 * 1024;
const MOST_STDERR = 4096;

/**
 * Keeps the text indexer of a run going, at the lowest priority: starts it, starts it again when it ends, says when it lags
 * or cannot go on. Nothing of the run depends on it.
 */
export class TextFollower {
  readonly #options: TextFollowerOptions;
  #indexer: Indexer | null = null;
  #connection: Connection<ToIndexer> | null = null;
  #exited: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | null = null;
  #retryMs = FIRST_RETRY_MS;
  #reason: string | null = null;
  #isBehind = false;
  #hasFailed = false;
  #ending = false;

  constructor(options: TextFollowerOptions) {
    this.#options = options;
  }

  /** The indexer's process; null while there is none. */
  get pid(): number | null {
    return this.#indexer?.pid ?? null;
  }

  start(): void {
    const [program, ...args] = entryCommand('text');
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#indexer = child;
    this.#reason = null;
    lowerPriority(child.pid);
    readLines(child.stderr, MOST_STDERR, (line) => this.#options.log(`text index: ${line}`));
    this.#exited = new Promise((resolve) => {
      child.once('error', (error) => {
        this.#reason ??= `it could not be started: ${error.message}`;
        resolve();
      });
      // Not 'exit': why it ended may still be on its way.
      child.once('close', (code, signal) => {
        this.#reason ??= `its process ended with ${signal ?? `code ${code}`}`;
        resolve();
      });
    });
    void this.#watch();
    this.#connection = connect<FromIndexer, ToIndexer>({
      input: child.stdout,
      output: child.stdin,
      schema: fromIndexerSchema,
      onMessage: (message) => this.#receive(message),
      onClose: (error) => {
        if (error === null) child.stdin.end();
        else child.kill('SIGKILL');
      },
    });
    const { runs, run } = this.#options;
    this.#connection.send({ type: 'start', runs, run, share: SHARE });
  }

  /** Has it catch up, for a few seconds at most, and end. Resolves when it is gone. */
  async stop(): Promise<void> {
    this.#ending = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    const child = this.#indexer;
    if (child === null) return;
    this.#connection?.send({ type: 'finish', ms: FINISH_MS });
    const timer = setTimeout(() => child.kill('SIGKILL'), FINISH_MS + END_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  #receive(message: FromIndexer): void {
    if (message.type === 'stopped') this.#reason = message.reason;
    if (message.type !== 'progress') return;
    this.#retryMs = FIRST_RETRY_MS;
    const { episodes, behindBytes } = message;
    if (this.#hasFailed) {
      this.#hasFailed = false;
      this.#options.onEvent('info', 'text-index-goes-on', `${episodes} episodes can be searched`);
    }
    if (behindBytes > FAR_BEHIND && !this.#isBehind) {
      this.#isBehind = true;
      const behind = `${Math.round(behindBytes / 2 ** 20)} MiB of episodes are not indexed yet`;
      this.#options.onEvent('warning', 'text-index-behind', `${behind}; text search misses them`);
    } else if (behindBytes < NEAR && this.#isBehind) {
      this.#isBehind = false;
      this.#options.onEvent('info', 'text-index-caught-up', `${episodes} episodes can be searched`);
    }
  }

  async #watch(): Promise<void> {
    await this.#exited;
    this.#indexer = null;
    this.#connection = null;
    if (this.#ending) return;
    const reason = this.#reason ?? 'its process ended';
    this.#options.log(`text index: ${reason}; started again in ${this.#retryMs} ms`);
    // A disk that stays full is one piece of news.
    if (!this.#hasFailed) {
      const meanwhile = 'the run goes on, and text search misses what is not indexed';
      this.#options.onEvent('warning', 'text-index-stopped', `${reason}; ${meanwhile}`);
    }
    this.#hasFailed = true;
    this.#retry = setTimeout(() => this.start(), this.#retryMs);
    this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2);
  }
}

/** Before it has threads: they are born with the priority that it has then. */
function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It is gone already, or the system does not let us: its share of a core is bounded all the same.
  }
}
