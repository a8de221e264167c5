import type { RunReader } from './queries.ts';

/** Success by iteration, as far as it was read. */
export interface SuccessCurve {
  /** The newest iteration; 0 before the first. */
  readonly iteration: number;
  /** On held-out tasks, or in training where none were measured: evenly chosen, the newest among them. */
  readonly success: readonly number[];
}

/**
 * Success of a run that goes on: each look reads what came since the one before. A run that was resumed does some iterations once
 * more, so it is read anew until the newest attempt has come to one.
 */
export class SuccessTrail {
  #iteration = 0;
  #attempt = 0;
  #heldOut: number[] = [];
  #train: number[] = [];

  /** Reads what is new. `attempt`: the newest of the run. */
  follow(reader: Pick<RunReader, 'success' | 'lastIteration'>, attempt: number): void {
    // Another run may be in the place of one that was removed.
    if (this.#attempt !== attempt || reader.lastIteration() < this.#iteration) {
      this.#iteration = 0;
      this.#heldOut = [];
      this.#train = [];
    }
    for (const row of reader.success(this.#iteration)) {
      this.#iteration = row.iteration;
      this.#attempt = row.attempt;
      if (row.heldOut !== null) this.#heldOut.push(row.heldOut);
      if (row.train !== null) this.#train.push(row.train);
    }
  }

  /** At most so many points of what was read. */
  curve(points: number): SuccessCurve {
    const all = this.#heldOut.length > 0 ? this.#heldOut : this.#train;
    const every = Math.max(1, Math.ceil(all.length / points));
    const success: number[] = [];
    for (let at = all.length - 1; at >= 0; at -= every) success.push(all[at] ?? 0);
    return { iteration: this.#iteration, success: success.toReversed() };
  }
}
