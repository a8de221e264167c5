/** One execution of an episode, for those that may not speak to processes. */
export type { Execution } from '../protocol/replay.ts';
