/** What was left out of batches: episodes, their steps, and the time that they took, in ms. */
export interface LeftOut {
  readonly episodes: number;
  readonly steps: number;
  readonly wallMs: number;
}

export const NOTHING_LEFT_OUT: LeftOut = { episodes: 0, steps: 0, wallMs: 0 };

/** Both together. */
export function addLeftOut(one: LeftOut, other: LeftOut): LeftOut {
  return {
    episodes: one.episodes + other.episodes,
    steps: one.steps + other.steps,
    wallMs: one.wallMs + other.wallMs,
  };
}
