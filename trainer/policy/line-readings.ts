import type { TextPolicySpec } from '../../src/domain/policy-spec.ts';

/** Where a reader goes on with an observation. */
export interface Continuation {
  /** `prefix`: behind all lines but the last of its observation before · `task`: behind the task · `start`: from nothing. */
  readonly from: 'start' | 'task' | 'prefix';
  /** Lines that need not be read again. */
  readonly lines: number;
}

/** The lines of one observation that hold a word. */
export interface ShownLines {
  readonly tokens: Int32Array | Float32Array;
  /** Where each begins in `tokens`, from `startsAt` on. */
  readonly starts: Int32Array;
  readonly startsAt: number;
  /** How many there are, and how many of them, the first ones, are the task's. */
  readonly count: number;
  readonly task: number;
}

const START: Continuation = { from: 'start', lines: 0 };

/**
 * What each of many readers has read of its newest observation, and the GRU's states there. The next observation of an episode
 * mostly has the same lines and one more, but for the last: so the state behind all but the last is kept, and the one behind
 * the task for when the oldest line goes. A state holds for the weights that made it, and is used only for the very same
 * tokens: it changes nothing in what is answered.
 */
export class LineReadings {
  readonly #tokens: number;
  readonly #sentences: number;
  readonly #hidden: number;
  #room = 0;
  /** [readers, sentences × tokens]: the lines read, one after the other. */
  #read = new Uint16Array(0);
  /** Of each reader: lines read, those of the task among them, and the weights that they were read with. */
  #counts = new Int32Array(0);
  #taskCounts = new Int32Array(0);
  #weights = new Int32Array(0);
  /** [readers, hidden] */
  #prefixStates = new Float32Array(0);
  #taskStates = new Float32Array(0);

  constructor({ sentences, tokens, hidden }: TextPolicySpec) {
    this.#tokens = tokens;
    this.#sentences = sentences;
    this.#hidden = hidden;
  }

  /** To be called with the largest number of a reader before the others. */
  makeRoom(reader: number): void {
    if (reader < this.#room) return;
    const room = Math.max(reader + 1, 2 * this.#room);
    this.#read = grown(this.#read, new Uint16Array(room * this.#sentences * this.#tokens));
    this.#counts = grown(this.#counts, new Int32Array(room));
    this.#taskCounts = grown(this.#taskCounts, new Int32Array(room));
    this.#weights = grown(this.#weights, new Int32Array(room));
    this.#prefixStates = grown(this.#prefixStates, new Float32Array(room * this.#hidden));
    this.#taskStates = grown(this.#taskStates, new Float32Array(room * this.#hidden));
    this.#room = room;
  }

  /** Where the reader goes on; the last line is always read. `weights`: a number for the weights in use, from 1. */
  resume(reader: number, shown: ShownLines, weights: number): Continuation {
    if (this.#weights[reader] !== weights) return START;
    const known = this.#counts[reader] ?? 0;
    const most = Math.min(known, shown.count - 1);
    let same = 0;
    while (same < most && this.#isRead(reader, same, shown)) same++;
    if (same === known && known > 0) return { from: 'prefix', lines: known };
    const task = this.#taskCounts[reader] ?? 0;
    return task > 0 && task <= same ? { from: 'task', lines: task } : START;
  }

  /** Notes all lines but the last as read, those before `from` again; their states are still to be kept. */
  note(reader: number, shown: ShownLines, weights: number, from: number): void {
    const { tokens, starts, startsAt, count, task } = shown;
    const width = this.#tokens;
    const read = this.#read;
    let at = (reader * this.#sentences + from) * width;
    for (let line = from; line < count - 1; line++) {
      const start = starts[startsAt + line] ?? 0;
      for (let i = 0; i < width; i++) read[at++] = tokens[start + i] ?? 0;
    }
    this.#counts[reader] = Math.max(0, count - 1);
    // A state behind the task is there if it was kept before, or if more than the task is read now.
    const isKept = from < task ? task < count : this.#taskCounts[reader] === task;
    this.#taskCounts[reader] = isKept ? task : 0;
    this.#weights[reader] = weights;
  }

  /** What was noted does not hold: its states were not kept. */
  forget(reader: number): void {
    this.#weights[reader] = 0;
  }

  /** Copies the state to go on from to `out`. */
  takeState(reader: number, from: Continuation['from'], out: Float32Array, outAt: number): void {
    if (from === 'start') out.fill(0, outAt, outAt + this.#hidden);
    else
      copy(from === 'task' ? this.#taskStates : this.#prefixStates, reader * this.#hidden, {
        out,
        outAt,
        width: this.#hidden,
      });
  }

  keepTask(reader: number, states: Float32Array, at: number): void {
    copy(states, at, { out: this.#taskStates, outAt: reader * this.#hidden, width: this.#hidden });
  }

  keepPrefix(reader: number, states: Float32Array, at: number): void {
    copy(states, at, { out: this.#prefixStates, outAt: reader * this.#hidden, width: this.#hidden });
  }

  #isRead(reader: number, line: number, { tokens, starts, startsAt }: ShownLines): boolean {
    const width = this.#tokens;
    const read = this.#read;
    const at = (reader * this.#sentences + line) * width;
    const start = starts[startsAt + line] ?? 0;
    for (let i = 0; i < width; i++) if (read[at + i] !== tokens[start + i]) return false;
    return true;
  }
}

function grown<T extends Uint16Array | Int32Array | Float32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** One by one: faster than `set` for so few. */
function copy(
  from: Float32Array,
  at: number,
  { out, outAt, width }: { readonly out: Float32Array; readonly outAt: number; readonly width: number },
): void {
  for (let i = 0; i < width; i++) out[outAt + i] = from[at + i] ?? 0;
}
