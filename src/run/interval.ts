import type { EpisodeSummary } from '../domain/episode.ts';

/** Training episodes stored since the last update phase. */
export class Interval {
  #episodes = 0;
  #void = 0;
  #steps = 0;

  add(summary: EpisodeSummary): void {
    this.#episodes++;
    this.#steps += summary.steps;
    this.#void += Number(summary.trust === 'void');
  }

  get steps(): number {
    return this.#steps;
  }

  get voidShare(): number {
    return this.#episodes === 0 ? 0 : this.#void / this.#episodes;
  }
}
