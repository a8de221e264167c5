/** Who acts when an episode is done again: the recorded actions, or the policy. */
export const REPLAY_MODES = ['actions', 'policy'] as const;
export type ReplayMode = (typeof REPLAY_MODES)[number];
