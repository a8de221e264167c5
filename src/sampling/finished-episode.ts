import type { EpisodeSummary } from '../domain/episode.ts';
import type { Attachments } from '../protocol/frame.ts';

/** What a slot has made of an episode. */
export interface FinishedEpisode {
  readonly summary: EpisodeSummary;
  readonly body: Uint8Array;
  /** Null for episodes that are not trained on. */
  readonly tensors: Attachments | null;
  readonly bootstrapValue: number | null;
  /** Of an episode of several agents that is trained on, V(s_T) of each; see trainer.ts of the protocol. */
  readonly agentValues?: readonly number[] | undefined;
  /** Its environment had an episode before. */
  readonly recycled: boolean;
}
