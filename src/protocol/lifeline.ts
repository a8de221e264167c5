import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/**
 * The part of a child process that must work while its main thread does not: a thread of its own.
 * - It kills the process when its parent is gone, even while the main thread spins (a closed stdin is only noticed by an
 *   idle one).
 * - It watches over what the main thread says it is doing. While that takes long it gives signs of life, when it takes too
 *   long it says so and kills the process: as lines on stderr, which the run process reads.
 * - It kills the process when its memory passes a limit, before the system kills whatever it likes, and says what the main
 *   thread was at if memory climbed meanwhile.
 * - It looks at what the main thread is doing every TICK_MS, and counts by slot: CPU time, at no cost to the main thread.
 */
export interface Lifeline {
  /**
   * The main thread begins something that must end within the limit; `subject` is a number that says what it is for, `slot`
   * whose it is.
   */
  begin(subject: number, stage: WatchedStage, slot?: number): void;
  /** It has ended. */
  end(): void;
  /** How often each slot was found at work since the last look, one count for each TICK_MS; absent: nobody counts. */
  takeTicks?(): Int32Array;
}

/** The time between two looks of the watching thread, ms. */
export const TICK_MS = 50;

/** What the main thread may be doing. Lines on stderr hold their numbers. */
const WATCHED_STAGES = ['reset', 'step', 'build', 'close'] as const;
export type WatchedStage = (typeof WATCHED_STAGES)[number];

/**
 * What a child's stderr says of something that its main thread is at: `busy` is a sign of life, sent every second; `grew`,
 * memory climbed during it; `ended`, what `busy` or `grew` was said of has ended; `stuck`, it took too long and the process
 * was killed for it; `memory`, the process was killed for its memory (subject 0 if that did not climb during one call);
 * `left`, it ended the process.
 */
const LIFELINE_NEWS = ['busy', 'grew', 'ended', 'stuck', 'memory', 'left'] as const;
export interface LifelineNews {
  readonly kind: (typeof LIFELINE_NEWS)[number];
  readonly subject: number;
  readonly stage: WatchedStage;
  /** How long it has lasted. */
  readonly ms: number;
  readonly slot: number;
  /** Resident memory of the process; 0 where that was not looked at. */
  readonly memoryMiB: number;
}

/** Begins such a line: prefix, kind, subject, stage, ms, slot, MiB. */
const PREFIX = '@agentrl-lab';

/** Reads a line of a child's stderr; null for any other line. */
export function parseLifelineNews(line: string): LifelineNews | null {
  const [prefix, kindText, subject, stageNumber, ms, slot, memoryMiB] = line.split(' ');
  const kind = LIFELINE_NEWS.find((known) => known === kindText);
  const stage = WATCHED_STAGES[Number(stageNumber)];
  if (prefix !== PREFIX || kind === undefined || stage === undefined) return null;
  return {
    kind,
    subject: Number(subject),
    stage,
    ms: Number(ms),
    slot: Number(slot ?? 0),
    memoryMiB: Number(memoryMiB ?? 0),
  };
}

// Kept as text: Node 20 cannot start a worker thread from a TypeScript file.
const WATCHER = `
const { workerData } = require('node:worker_threads');
const { writeSync, rmSync } = require('node:fs');
const { prefix, parent, limitMs, memoryLimitMiB, sayMs, tickMs, growthMiB, tempRoot } = workerData;
const state = new Int32Array(workerData.state);
const ticks = new Int32Array(workerData.ticks);
const rssMiB = () => process.memoryUsage.rss() / 2 ** 20;
let seen = 0;
let since = Date.now();
let last = Date.now();
let said = 0;
let isTold = false;
let memory = rssMiB();
/** Memory at the last look before the call that is under way. */
let before = memory;
let told = memory;
let call = [0, 0, 0];
function say(kind, now) {
  const [subject, stage, slot] = call;
  const line = [prefix, kind, subject, stage, now - since, slot, Math.round(memory)].join(' ');
  try { writeSync(2, '\\n' + line + '\\n'); } catch { /* Nobody reads it. */ }
}
function kill() { process.kill(process.pid, 'SIGKILL'); }
setInterval(() => {
  if (process.ppid !== parent) {
    // Nobody is left to do it.
    if (tempRoot !== null) try { rmSync(tempRoot, { recursive: true, force: true }); } catch { /* The next start will. */ }
    kill();
  }
  const count = Atomics.load(state, 0);
  const now = Date.now();
  const earlier = memory;
  memory = rssMiB();
  // The whole machine, or this process, was asleep: that is not the main thread's doing.
  const slept = now - last > 2000;
  last = now;
  const isAtWork = count % 2 !== 0;
  if (count !== seen || slept) {
    if (isTold && count !== seen) say('ended', now);
    if (count !== seen) { isTold = false; before = earlier; told = earlier; }
    seen = count; since = now; said = now;
    if (isAtWork) call = [state[1], state[2], state[3]];
  }
  if (isAtWork && call[2] < ticks.length) Atomics.add(ticks, call[2], 1);
  const hasGrown = isAtWork && memory - before >= growthMiB;
  if (memory > memoryLimitMiB) {
    if (!hasGrown) call = [0, 0, 0];
    say('memory', now);
    kill();
  }
  if (slept || !isAtWork) return;
  if (now - since >= limitMs) { say('stuck', now); kill(); }
  // Told as it climbs: the system, or V8, may end the process at any time.
  if (hasGrown && memory - told >= growthMiB) { say('grew', now); isTold = true; told = memory; }
  if (now - said >= sayMs) { say('busy', now); said = now; isTold = true; }
}, Math.min(tickMs, Math.max(20, limitMs / 4)));
`;
/** The time between two signs of life of a busy main thread. */
const SAY_MS = 1000;
/** Between two looks where nothing is counted. */
const LAZY_TICK_MS = 250;
/** So much more memory during one call is worth saying. */
const GROWTH_MIB = 32;

export interface LifelineOptions {
  /** The longest that anything between `begin` and `end` may take. */
  readonly limitMs: number;
  /** The most resident memory; absent: any. */
  readonly memoryLimitMiB?: number;
  /** How many slots there are to count for. */
  readonly slots?: number;
  /** A directory to remove when the parent is gone. */
  readonly tempRoot?: string;
}

/** Starts the watching thread. */
export function startLifeline(options: LifelineOptions): Lifeline {
  const { limitMs, memoryLimitMiB = Infinity, slots = 0, tempRoot = null } = options;
  const shared = new SharedArrayBuffer(16);
  const state = new Int32Array(shared);
  const counted = new SharedArrayBuffer(4 * slots);
  const ticks = new Int32Array(counted);
  const thread = new Worker(WATCHER, {
    eval: true,
    workerData: {
      state: shared,
      ticks: counted,
      parent: process.ppid,
      limitMs,
      memoryLimitMiB,
      tempRoot,
      prefix: PREFIX,
      sayMs: SAY_MS,
      tickMs: slots > 0 ? TICK_MS : LAZY_TICK_MS,
      growthMiB: GROWTH_MIB,
    },
  });
  thread.unref();
  let began = 0;
  process.on('exit', () => {
    if (Atomics.load(state, 0) % 2 === 0) return;
    const news = [PREFIX, 'left', state[1], state[2], Date.now() - began, state[3], 0].join(' ');
    writeSync(2, `\n${news}\n`);
  });
  return {
    begin(subject, stage, slot = 0) {
      state[1] = subject;
      state[2] = WATCHED_STAGES.indexOf(stage);
      state[3] = slot;
      began = Date.now();
      // What was stored before it is seen by whoever sees this.
      Atomics.add(state, 0, 1);
    },
    end() {
      Atomics.add(state, 0, 1);
    },
    takeTicks: () => ticks.map((_, slot) => Atomics.exchange(ticks, slot, 0)),
  };
}
