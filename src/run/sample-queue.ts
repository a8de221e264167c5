import type { EpisodeSummary } from '../domain/episode.ts';
import type { SamplesHeader } from '../protocol/trainer.ts';
import type { DeliveredEpisode } from './worker-pool.ts';

export interface QueuedSamples {
  readonly header: SamplesHeader;
  /** All tensors, one after the other. */
  readonly samples: Uint8Array;
  readonly bytes: number;
  /** When it came, ms since the epoch. */
  readonly queuedAt: number;
  /** Policy version of its oldest step. */
  readonly oldestVersion: number;
  /** What became of it. */
  readonly outcome: Pick<
    EpisodeSummary,
    'reward' | 'success' | 'truncated' | 'trust' | 'wallMs' | 'components'
  >;
}

/** Trainable episodes that wait for an update, oldest first. */
export class SampleQueue {
  #items: QueuedSamples[] = [];
  #steps = 0;
  #bytes = 0;

  get steps(): number {
    return this.#steps;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How many episodes wait, and since when the oldest does (ms since the epoch); null when there is none. */
  get oldest(): { readonly count: number; readonly since: number } | null {
    const [first] = this.#items;
    return first === undefined ? null : { count: this.#items.length, since: first.queuedAt };
  }

  /** Takes in a trainable episode, but for its body: that is for the store. */
  push({ summary, bootstrapValue, agentValues, attachments }: DeliveredEpisode): void {
    const { id, steps, terminated, firstPolicyVersion } = summary;
    const { reward, success, truncated, trust, wallMs, components } = summary;
    const samples = copyOf(attachments['samples'] ?? new Uint8Array(0));
    const bytes = samples.byteLength;
    this.#items.push({
      header: { id, steps, terminated, bootstrapValue, agentValues },
      samples,
      bytes,
      queuedAt: Date.now(),
      oldestVersion: firstPolicyVersion,
      outcome: { reward, success, truncated, trust, wallMs, components },
    });
    this.#steps += steps;
    this.#bytes += bytes;
  }

  /** Takes the oldest episodes until they make up at least `steps` steps; all of them if there are fewer. */
  take(steps: number): QueuedSamples[] {
    let count = 0;
    let taken = 0;
    while (taken < steps && count < this.#items.length) {
      taken += this.#items[count]?.header.steps ?? 0;
      count++;
    }
    const batch = this.#items.splice(0, count);
    this.#forget(batch);
    return batch;
  }

  /** Drops every episode with a step of a policy version before `oldest`. Returns them. */
  dropOlder(oldest: number): QueuedSamples[] {
    const dropped = this.#items.filter(({ oldestVersion }) => oldestVersion < oldest);
    if (dropped.length === 0) return [];
    this.#items = this.#items.filter(({ oldestVersion }) => oldestVersion >= oldest);
    this.#forget(dropped);
    return dropped;
  }

  /** Drops the oldest episodes until the rest has at most so many `bytes`. Returns them. */
  dropBeyond(bytes: number): QueuedSamples[] {
    let count = 0;
    let rest = this.#bytes;
    while (rest > bytes) rest -= this.#items[count++]?.bytes ?? rest;
    const dropped = this.#items.splice(0, count);
    this.#forget(dropped);
    return dropped;
  }

  #forget(gone: readonly QueuedSamples[]): void {
    for (const { header, bytes } of gone) {
      this.#steps -= header.steps;
      this.#bytes -= bytes;
    }
  }
}

/** An attachment is a view into a receive buffer that holds more: a queue would take a multiple of the bytes that it counts. */
function copyOf(samples: Uint8Array): Uint8Array {
  const memory = Buffer.allocUnsafeSlow(samples.byteLength);
  memory.set(samples);
  return memory;
}
