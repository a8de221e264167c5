import type { EpisodeSummary } from '../domain/episode.ts';

/** Training episodes since the last update phase. */
export class Interval {
  #episodes = 0;
  #valid = 0;
  #void = 0;
  #truncated = 0;
  #successes = 0;
  #steps = 0;
  #reward = 0;

  add(summary: EpisodeSummary): void {
    this.#episodes++;
    this.#steps += summary.steps;
    if (summary.trust === 'void') {
      this.#void++;
      return;
    }
    this.#valid++;
    this.#truncated += Number(summary.truncated);
    this.#successes += Number(summary.success);
    this.#reward += summary.reward ?? 0;
  }

  get steps(): number {
    return this.#steps;
  }

  get voidShare(): number {
    return this.#episodes === 0 ? 0 : this.#void / this.#episodes;
  }

  /** Means over the episodes that could be scored; 0 where there was none. */
  means(): { reward: number; success: number; truncatedShare: number; meanSteps: number } {
    const over = (sum: number): number => (this.#valid === 0 ? 0 : sum / this.#valid);
    return {
      reward: over(this.#reward),
      success: over(this.#successes),
      truncatedShare: over(this.#truncated),
      meanSteps: this.#episodes === 0 ? 0 : this.#steps / this.#episodes,
    };
  }
}
