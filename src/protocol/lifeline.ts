import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/**
 * The part of a child process that must work while its main thread does not: a thread of its own.
 * - It kills the process when its parent is gone, even while the main thread spins (a closed stdin is only noticed by an
 *   idle one).
 * - It watches over what the main thread says it is doing. While that takes long it gives signs of life, when it takes too
 *   long it says so and kills the process: as lines on stderr, which the run process reads.
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

/**
 * What a child's stderr says of something that its main thread is at: `busy` is a sign of life, sent every second; `stuck`,
 * it took too long and the process was killed for it; `left`, it ended the process.
 */
const LIFELINE_NEWS = ['busy', 'stuck', 'left'] as const;
export interface LifelineNews {
  readonly kind: (typeof LIFELINE_NEWS)[number];
  readonly subject: number;
  readonly stage: WatchedStage;
  readonly ms: number;
}

/** Begins such a line: prefix, kind, subject, stage, ms. */
const PREFIX = '@agentrl-lab';

/** Reads a line of a child's stderr; null for any other line. */
export function parseLifelineNews(line: string): LifelineNews | null {
  const [prefix, kindText, subject, stageNumber, ms] = line.split(' ');
  const kind = LIFELINE_NEWS.find((known) => known === kindText);
  const stage = WATCHED_STAGES[Number(stageNumber)];
  if (prefix !== PREFIX || kind === undefined || stage === undefined) return null;
  return { kind, subject: Number(subject), stage, ms: Number(ms) };
}

// Kept as text: Node 20 cannot start a worker thread from a TypeScript file.
const WATCHER = `
const { workerData } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const state = new Int32Array(workerData.state);
let seen = 0;
let since = Date.now();
let last = Date.now();
let said = 0;
function say(kind, ms) {
  const line = [workerData.prefix, kind, Atomics.load(state, 1), Atomics.load(state, 2), ms].join(' ');
  try { writeSync(2, '\\n' + line + '\\n'); } catch { /* Nobody reads it. */ }
}
setInterval(() => {
  if (process.ppid !== workerData.parent) process.kill(process.pid, 'SIGKILL');
  const count = Atomics.load(state, 0);
  const now = Date.now();
  // The whole machine, or this process, was asleep: that is not the main thread's doing.
  const slept = now - last > 2000;
  last = now;
  if (slept) { since = now; said = now; return; }
  if (count !== seen || count % 2 === 0) { seen = count; since = now; said = now; return; }
  if (now - since >= workerData.limitMs) { say('stuck', now - since); process.kill(process.pid, 'SIGKILL'); }
  if (now - said >= workerData.sayMs) { say('busy', now - since); said = now; }
}, Math.min(250, Math.max(20, workerData.limitMs / 4)));
`;
/** The time between two signs of life of a busy main thread. */
const SAY_MS = 1000;

/** Starts the watching thread. `limitMs` is the longest that anything between `begin` and `end` may take. */
export function startLifeline(limitMs: number): Lifeline {
  const shared = new SharedArrayBuffer(12);
  const state = new Int32Array(shared);
  const thread = new Worker(WATCHER, {
    eval: true,
    workerData: { state: shared, parent: process.ppid, limitMs, prefix: PREFIX, sayMs: SAY_MS },
  });
  thread.unref();
  let began = 0;
  process.on('exit', () => {
    if (Atomics.load(state, 0) % 2 === 0) return;
    const news = [PREFIX, 'left', state[1], state[2], Date.now() - began].join(' ');
    writeSync(2, `\n${news}\n`);
  });
  return {
    begin(subject, stage) {
      Atomics.store(state, 1, subject);
      Atomics.store(state, 2, WATCHED_STAGES.indexOf(stage));
      began = Date.now();
      Atomics.add(state, 0, 1);
    },
    end() {
      Atomics.add(state, 0, 1);
    },
  };
}
