import { seconds } from '../domain/figure-text.ts';
import type { Journal } from './journal.ts';
import { addLeftOut, type LeftOut, NOTHING_LEFT_OUT } from './left-out.ts';
import type { Progress } from './progress.ts';
import type { QueuedSamples, SampleQueue } from './sample-queue.ts';
import type { WasteMeter } from './waste-meter.ts';

/** Drops are told in one event for so long, ms. */
const QUIET_MS = 60_000;

export interface StaleSamplesParts {
  readonly queue: Pick<SampleQueue, 'dropOlder' | 'dropBeyond'>;
  readonly progress: Pick<Progress, 'policyVersion' | 'addLeftOut'>;
  readonly waste: Pick<WasteMeter, 'addLeftOut'>;
  readonly journal: Pick<Journal, 'event'>;
}

/** Leaves samples of too old a policy, and the oldest of too many, out of batches; counts them and says so. */
export class StaleSamples {
  readonly #parts: StaleSamplesParts;
  readonly #tooOld: Teller;
  readonly #tooMany: Teller;
  readonly #mostVersions: number;
  readonly #mostBytes: number;

  /** At most: policy versions that the oldest step of an episode may be behind; bytes that may be queued. */
  constructor(most: { readonly versions: number; readonly bytes: number }, parts: StaleSamplesParts) {
    this.#parts = parts;
    this.#mostVersions = most.versions;
    this.#mostBytes = most.bytes;
    const mib = Math.round(most.bytes / 2 ** 20);
    const versions = `a step of theirs was more than ${most.versions} policy versions old (sampling.maxStaleness)`;
    const bytes = `they were the oldest of more than ${mib} MiB (sampling.queueMiB, and unackedMiB of each worker)`;
    this.#tooOld = new Teller('samples-stale', versions, parts.journal);
    this.#tooMany = new Teller('samples-dropped', bytes, parts.journal);
  }

  /** Leaves out what is too old; to be called before a batch is taken. `time` in ms. */
  drop(time: number): void {
    const { queue, progress } = this.#parts;
    this.#leaveOut(queue.dropOlder(progress.policyVersion - this.#mostVersions), this.#tooOld, time);
  }

  /** Leaves out the oldest of too many; to be called when any have come. `time` in ms. */
  shed(time: number): void {
    this.#leaveOut(this.#parts.queue.dropBeyond(this.#mostBytes), this.#tooMany, time);
  }

  #leaveOut(dropped: readonly QueuedSamples[], teller: Teller, time: number): void {
    if (dropped.length === 0) return;
    const leftOut = {
      episodes: dropped.length,
      steps: dropped.reduce((sum, { header }) => sum + header.steps, 0),
      wallMs: dropped.reduce((sum, { outcome }) => sum + outcome.wallMs, 0),
    };
    for (const { outcome } of dropped) this.#parts.waste.addLeftOut(outcome);
    this.#parts.progress.addLeftOut(leftOut);
    teller.add(leftOut, time);
  }
}

/** Tells of what was left out for one reason: at once, then not again for a while. */
class Teller {
  readonly #kind: string;
  readonly #why: string;
  readonly #journal: Pick<Journal, 'event'>;
  #untold = NOTHING_LEFT_OUT;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(kind: string, why: string, journal: Pick<Journal, 'event'>) {
    this.#kind = kind;
    this.#why = why;
    this.#journal = journal;
  }

  add(leftOut: LeftOut, time: number): void {
    this.#untold = addLeftOut(this.#untold, leftOut);
    if (time - this.#toldAt < QUIET_MS) return;
    const { episodes, steps, wallMs } = this.#untold;
    const what = `${episodes} episodes with ${steps} steps and ${seconds(wallMs)} of sampling`;
    this.#journal.event('warning', this.#kind, 'run', `${what} were left out of batches: ${this.#why}`);
    this.#untold = NOTHING_LEFT_OUT;
    this.#toldAt = time;
  }
}
