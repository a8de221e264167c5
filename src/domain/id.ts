import { z } from 'zod';

/** Identifies a run; also the name of its directory, so only letters, digits, `-` and `_`. */
export const runIdSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/u)
  .brand<'RunId'>();

/** Identifies an episode within its run: `e` and the dispatch number. A re-dispatched episode keeps its id. */
export const episodeIdSchema = z
  .string()
  .regex(/^e\d{1,12}$/u)
  .brand<'EpisodeId'>();
export type EpisodeId = z.infer<typeof episodeIdSchema>;

/** The id of the n-th dispatched episode of a run, n ≥ 1. */
export function episodeId(sequence: number): EpisodeId {
  return episodeIdSchema.parse(`e${sequence}`);
}

/** The dispatch number inside an episode id. */
export function episodeSequence(id: EpisodeId): number {
  return Number(id.slice(1));
}
