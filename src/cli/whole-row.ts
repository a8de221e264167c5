import { type EpisodeSummary, shortObservations } from '../domain/episode.ts';
import { LabError } from '../domain/error.ts';
import type { RunReader } from '../store/queries.ts';

/** What the index keeps of an episode, and what only its record has; null where that cannot be read any more. */
export function wholeRow(
  reader: Pick<RunReader, 'episode'>,
  { id, ...indexed }: EpisodeSummary,
): Record<string, unknown> {
  try {
    const { summary, body } = reader.episode(id);
    const { first, last } = shortObservations(body);
    return { ...summary, firstObservation: first, lastObservation: last };
  } catch (thrown) {
    if (!(thrown instanceof LabError)) throw thrown;
    return { id, ...indexed, firstObservation: null, lastObservation: null };
  }
}
