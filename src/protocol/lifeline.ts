import { Worker } from 'node:worker_threads';

/**
 * The part of a child process that must work while its main thread does not: a thread of its own.
 * - It kills the process when its parent is gone, even while the main thread spins (a closed stdin is only noticed by an
 *   idle one).
 * - It watches over what the main thread says it is doing, and when that takes too long prints one line on stderr, which
 *   the run process reads, and kills the process.
 */
export interface Lifeline {
  /** The main thread begins something that must end within the limit; `subject` is a number that says what it is for. */
  begin(subject: number, stage: WatchedStage): void;
  /** It has ended. */
  end(): void;
}

/** What the main thread may be doing. */
const WATCHED_STAGES = ['reset', 'step'] as const;
export type WatchedStage = (typeof WATCHED_STAGES)[number];

/** Something that took too long, and for which its process was killed. */
export interface Stuck {
  readonly subject: number;
  readonly stage: WatchedStage;
  readonly ms: number;
}

/** Begins the line on stderr by which the watching thread says what was stuck: prefix, subject, stage, ms. */
const STUCK_PREFIX = '@agentrl-lab-stuck';

/** Reads a line of a child's stderr; null for any other line. */
export function parseStuck(line: string): Stuck | null {
  const [prefix, subject, stage, ms] = line.split(' ');
  const name = WATCHED_STAGES[Number(stage)];
  if (prefix !== STUCK_PREFIX || name === undefined) return null;
  return { subject: Number(subject), stage: name, ms: Number(ms) };
}

// Kept as text: Node 20 cannot start a worker thread from a TypeScript file.
const WATCHER = `
const { workerData } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const state = new Int32Array(workerData.state);
let seen = 0;
let since = Date.now();
setInterval(() => {
  if (process.ppid !== workerData.parent) process.kill(process.pid, 'SIGKILL');
  const count = Atomics.load(state, 0);
  const now = Date.now();
  if (count !== seen || count % 2 === 0) { seen = count; since = now; return; }
  if (now - since < workerData.limitMs) return;
  const line = [workerData.prefix, Atomics.load(state, 1), Atomics.load(state, 2), now - since].join(' ');
  try { writeSync(2, '\\n' + line + '\\n'); } finally { process.kill(process.pid, 'SIGKILL'); }
}, Math.min(250, Math.max(20, workerData.limitMs / 4)));
`;

/** Starts the watching thread. `limitMs` is the longest that anything between `begin` and `end` may take. */
export function startLifeline(limitMs: number): Lifeline {
  const shared = new SharedArrayBuffer(12);
  const state = new Int32Array(shared);
  const thread = new Worker(WATCHER, {
    eval: true,
    workerData: { state: shared, parent: process.ppid, limitMs, prefix: STUCK_PREFIX },
  });
  thread.unref();
  return {
    begin(subject, stage) {
      Atomics.store(state, 1, subject);
      Atomics.store(state, 2, WATCHED_STAGES.indexOf(stage));
      Atomics.add(state, 0, 1);
    },
    end() {
      Atomics.add(state, 0, 1);
    },
  };
}
