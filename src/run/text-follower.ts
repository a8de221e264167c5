import type { RunEvent } from '../domain/run.ts';
import { type Helper, spawnHelper } from '../hosts/helper.ts';
import { type Connection, connect } from '../protocol/connection.ts';
import { type FromIndexer, fromIndexerSchema, type ToIndexer } from '../protocol/text.ts';

export interface TextFollowerOptions {
  /** The runs directory, and the run's id in it. */
  readonly runs: string;
  readonly run: string;
  readonly onEvent: (level: RunEvent['level'], kind: string, message: string) => void;
  readonly log: (line: string) => void;
}

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

/**
 * Keeps the text indexer of a run going, at the lowest priority: starts it, starts it again when it ends, says when it lags
 * or cannot go on. Nothing of the run depends on it.
 */
export class TextFollower {
  readonly #options: TextFollowerOptions;
  #indexer: Helper | null = null;
  #connection: Connection<ToIndexer> | null = null;
  #retry: NodeJS.Timeout | null = null;
  #retryMs = FIRST_RETRY_MS;
  #reason: string | null = null;
  #isBehind = false;
  #hasFailed = false;
  #ending = false;

  constructor(options: TextFollowerOptions) {
    this.#options = options;
  }

  /** Of the indexer's process; null while there is none. */
  get pid(): number | null {
    return this.#indexer?.pid ?? null;
  }

  start(): void {
    const child = spawnHelper('text', (line) => this.#options.log(`text index: ${line}`));
    this.#indexer = child;
    this.#reason = null;
    void this.#watch(child);
    this.#connection = connect<FromIndexer, ToIndexer>({
      input: child.stdout,
      output: child.stdin,
      schema: fromIndexerSchema,
      onMessage: (message) => this.#receive(message),
      onClose: (error) => {
        if (error === null) child.stdin.end();
        else child.kill();
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
    const timer = setTimeout(() => child.kill(), FINISH_MS + END_MS);
    await child.ended;
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

  async #watch(child: Helper): Promise<void> {
    const ending = await child.ended;
    this.#indexer = null;
    this.#connection = null;
    if (this.#ending) return;
    const reason = this.#reason ?? ending;
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
