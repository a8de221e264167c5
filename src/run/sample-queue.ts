import type { Attachments } from '../protocol/frame.ts';
import type { SamplesHeader } from '../protocol/trainer.ts';
import type { DeliveredEpisode } from './worker-pool.ts';

export interface QueuedSamples {
  readonly header: SamplesHeader;
  readonly tensors: Attachments;
  readonly bytes: number;
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

  /** Takes in a trainable episode, but for its body: that is for the store. */
  push({ summary, bootstrapValue, attachments }: DeliveredEpisode): void {
    const { body: _body, ...tensors } = attachments;
    const bytes = Object.values(tensors).reduce((sum, tensor) => sum + tensor.byteLength, 0);
    const { id, steps, terminated } = summary;
    this.#items.push({ header: { id, steps, terminated, bootstrapValue }, tensors, bytes });
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
    for (const samples of batch) {
      this.#steps -= samples.header.steps;
      this.#bytes -= samples.bytes;
    }
    return batch;
  }
}
