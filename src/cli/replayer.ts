import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
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

/** Time for what surrounds the calls of an episode, ms, on top of their own limits: loading onnxruntime is part of it. */
const GRACE_MS = 20_000;

/** The longest that a timer can wait. */
const MOST_MS = 2 ** 31 - 1;

/** The weights of a kept policy. May throw. */
export type LoadWeights = (policyVersion: number) => Uint8Array;

interface Pending {
  readonly resolve: (execution: Execution) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Does episodes again in a process of its own, one at a time. One that ends the process, or spins until it is killed, is
 * `broken`; the next gets a new process.
 */
export class Replayer {
  readonly #weights: LoadWeights;
  /** Versions that the process has. */
  readonly #sent = new Set<number>();
  #child: ReplayChild | null = null;
  #connection: Connection<ToReplayer> | null = null;
  #pending: Pending | null = null;
  #news: LifelineNews | null = null;
  #lastLine = '';
  #timer: NodeJS.Timeout | null = null;

  constructor(weights: LoadWeights) {
    this.#weights = weights;
  }

  /** Throws `environment-invalid` when the environment cannot be had here at all, and what loading weights throws. */
  async execute(request: ExecutionRequest): Promise<Execution> {
    this.#news = null;
    this.#lastLine = '';
    const connection = this.#connection ?? this.#start();
    for (const version of new Set(request.acting?.versions)) {
      if (this.#sent.has(version)) continue;
      connection.send({ type: 'weights', policyVersion: version }, { weights: this.#weights(version) });
      this.#sent.add(version);
    }
    return await new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      // The child watches each call; this is for a child that does not even get there.
      const steps = Math.max(request.actions.length, request.acting?.maxSteps ?? 0);
      const limitMs = Math.min(MOST_MS, request.stepTimeoutMs * (steps + 1) + GRACE_MS);
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
    this.#sent.clear();
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
      calls: [],
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

/** Does the requests, one at a time on each core; the executions are in their order. Throws as `Replayer.execute` does. */
export async function executeTogether(
  requests: readonly ExecutionRequest[],
  weights: LoadWeights,
): Promise<Execution[]> {
  const executions: Execution[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    const replayer = new Replayer(weights);
    try {
      for (let index = next++; index < requests.length; index = next++) {
        const request = requests[index];
        if (request !== undefined) executions[index] = await replayer.execute(request);
      }
    } finally {
      replayer.close();
    }
  };
  await Promise.all(Array.from({ length: Math.min(requests.length, availableParallelism()) }, work));
  return executions;
}

function stageOf(news: LifelineNews | null): NonNullable<Execution['broken']>['stage'] {
  return news === null || news.stage === 'close' ? 'step' : news.stage;
}

function removeRoot(pid: number | undefined): void {
  if (pid !== undefined) rmSync(replayRoot(pid), { recursive: true, force: true });
}
