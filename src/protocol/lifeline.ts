import { Worker } from 'node:worker_threads';

/**
 * The part of a child process that must work while its main thread does not: a thread of its own.
 * - It kills the process when its parent is gone, even while the main thread spins (a closed stdin is only noticed by an
 *   idle one).
 * - It watches over what the main thread says it is doing, and when that takes too long prints one line on stderr, which
 *   the run process reads, and kills the process.
 */
export interface Lifeline {
  /** The main thread begins something that must end within the limit: `subject` and `stage` are small numbers. */
  begin(subject: number, stage: number): void;
  /** It has ended. */
  end(): void;
}

/** Prefix of the line on stderr by which the watching thread says what was stuck: `STUCK_PREFIX subject stage ms`. */
export const STUCK_PREFIX = '@agentrl-lab-stuck';

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
      Atomics.store(state, 2, stage);
      Atomics.add(state, 0, 1);
    },
    end() {
      Atomics.add(state, 0, 1);
    },
  };
}
