import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { errorText, LabError } from '../domain/error.ts';
import { entryCommand } from '../hosts/entries.ts';
import { readLines } from '../hosts/lines.ts';
import { MAX_LINE } from '../hosts/spawn.ts';
import { type Connection, connect } from '../protocol/connection.ts';
import { type LifelineNews, parseLifelineNews } from '../protocol/lifeline.ts';
import {
  type Execution,
  type ExecutionRequest,
  type FromReplayer,
  fromReplayerSchema,
  replayRoot,
  type ToReplayer,
} from '../protocol/replay.ts';

type ReplayChild = ChildProcessByStdio<Writable, Readable, Readable>;

/** Time for what surrounds the calls of an episode, ms, on top of their own limits. */
const GRACE_MS = 10_000;

interface Pending {
  readonly resolve: (execution: Execution) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Does episodes again in a process of its own, one at a time. One that ends the process, or spins until it is killed, is
 * `broken`; the next gets a new process.
 */
export class Replayer {
  #child: ReplayChild | null = null;
  #connection: Connection<ToReplayer> | null = null;
  #pending: Pending | null = null;
  #news: LifelineNews | null = null;
  #lastLine = '';
  #timer: NodeJS.Timeout | null = null;

  /** Throws `environment-invalid` when the environment cannot be had here at all. */
  async execute(request: ExecutionRequest): Promise<Execution> {
    this.#news = null;
    this.#lastLine = '';
    const connection = this.#connection ?? this.#start();
    return await new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      // The child watches each call; this is for a child that does not even get there.
      const limitMs = request.stepTimeoutMs * (request.actions.length + 1) + GRACE_MS;
      this.#timer = setTimeout(() => this.#child?.kill('SIGKILL'), limitMs);
      connection.send({ type: 'execute', request });
    });
  }

  close(): void {
    this.#child?.kill('SIGKILL');
    removeRoot(this.#child?.pid);
    this.#child = null;
    this.#connection = null;
  }

  #start(): Connection<ToReplayer> {
    const [program, ...args] = entryCommand('replay');
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child = child;
    readLines(child.stderr, MAX_LINE, (line) => {
      const news = parseLifelineNews(line);
      if (news === null) this.#lastLine = line;
      else if (news.kind !== 'busy') this.#news = news;
    });
    child.once('error', (error) => this.#ended(child, errorText(error)));
    child.once('close', (code, signal) => this.#ended(child, signal ?? `code ${code}`));
    const connection = connect<FromReplayer, ToReplayer>({
      input: child.stdout,
      output: child.stdin,
      schema: fromReplayerSchema,
      onMessage: (message) => this.#receive(message),
      onClose: (error) => {
        if (error !== null) child.kill('SIGKILL');
      },
    });
    this.#connection = connection;
    return connection;
  }

  #receive(message: FromReplayer): void {
    if (message.type === 'hello') return;
    const pending = this.#take();
    if (message.type === 'executed') pending?.resolve(message.execution);
    else pending?.reject(new LabError('environment-invalid', { message: message.reason }));
  }

  #ended(child: ReplayChild, how: string): void {
    removeRoot(child.pid);
    if (child !== this.#child) return;
    this.#child = null;
    this.#connection = null;
    this.#take()?.resolve({
      steps: [],
      finalLines: null,
      end: null,
      broken: { stage: stageOf(this.#news), reason: this.#reason(how) },
      stateHash: null,
      envVersion: '',
    });
  }

  #reason(how: string): string {
    if (this.#news?.kind === 'stuck')
      return `it did not end within ${this.#news.ms} ms; its process was killed`;
    if (this.#news?.kind === 'left') return 'the environment ended its process';
    return `its process ended with ${how}${this.#lastLine === '' ? '' : `: ${this.#lastLine}`}`;
  }

  #take(): Pending | null {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const pending = this.#pending;
    this.#pending = null;
    return pending;
  }
}

function stageOf(news: LifelineNews | null): NonNullable<Execution['broken']>['stage'] {
  return news === null || news.stage === 'close' ? 'step' : news.stage;
}

function removeRoot(pid: number | undefined): void {
  if (pid !== undefined) rmSync(replayRoot(pid), { recursive: true, force: true });
}
