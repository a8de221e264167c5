import { createPenaltyTracker, type PenaltyTracker } from './penalties.ts';

/** A penalty tracker for each agent of an episode: what another one did is no repetition, and no switch. */
export class TeamPenalties {
  /** Of an episode with one agent. */
  readonly #only = createPenaltyTracker();
  readonly #byAgent = new Map<string, PenaltyTracker>();

  /** That of an agent; absent: the only one. */
  of(agent: string | undefined): PenaltyTracker {
    if (agent === undefined) return this.#only;
    const known = this.#byAgent.get(agent);
    if (known !== undefined) return known;
    const tracker = createPenaltyTracker();
    this.#byAgent.set(agent, tracker);
    return tracker;
  }

  /** Begins the next episode. */
  reset(): void {
    this.#only.reset();
    for (const tracker of this.#byAgent.values()) tracker.reset();
  }
}
