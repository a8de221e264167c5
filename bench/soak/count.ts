import { z } from 'zod';
import { FAILURE_TYPES } from '../../src/domain/failure.ts';
import { episodeIdSchema, episodeSequence } from '../../src/domain/id.ts';
import { parseFilter } from '../../src/store/filter.ts';
import { openRunReader } from '../../src/store/queries.ts';
import type { RunPaths } from '../../src/store/run-directory.ts';
import { partsOf, scanSegment, segmentNumbers } from '../../src/store/segment.ts';

/** What a run that has come to rest has stored. */
export interface RunCount {
  /** Highest number that was given to an episode. */
  readonly dispatched: number;
  /** Different episodes in the segments. */
  readonly stored: number;
  /** Numbers that were given out and stored nowhere. */
  readonly lost: number;
  /** Records of episodes that have one already. */
  readonly duplicated: number;
  /** Stretches of segments that are no record. */
  readonly damaged: number;
  readonly training: number;
  readonly void: number;
  /** Times that an episode, or the task of a void one, was given out after the first. */
  readonly again: number;
  /** Workers that died, and episodes that went back with them, by the events. */
  readonly deathEvents: number;
  readonly sentBack: number;
  readonly byOutcome: Readonly<Record<string, number>>;
  /** Segments and index have as many of each outcome, and they sum up to all. */
  readonly sumsAgree: boolean;
}

const headerSchema = z.object({
  id: episodeIdSchema,
  phase: z.string(),
  trust: z.string(),
  attempt: z.number(),
  failure: z.string().nullable(),
});

const eventSchema = z.object({ kind: z.string(), message: z.string() });
const SENT_BACK = /(\d+) episodes will be dispatched again/u;

/** Counts from the segments, record by record, and holds the index against it. */
export function countRun(paths: RunPaths): RunCount {
  let seen = new Uint8Array(1 << 20);
  const byOutcome: Record<string, number> = {};
  let [dispatched, stored, duplicated, damaged, training, voidEpisodes, again] = [0, 0, 0, 0, 0, 0, 0];
  for (const number of segmentNumbers(paths.segments)) {
    for (const stretch of scanSegment(paths.segments, number)) {
      if (stretch.type === 'damage') damaged++;
      const records = stretch.type === 'damage' ? [] : partsOf(stretch.record);
      for (const record of records.filter(({ kind }) => kind === 'episode')) {
        const { id, phase, trust, attempt, failure } = headerSchema.parse(record.header);
        const sequence = episodeSequence(id);
        if (sequence >= seen.length) seen = grown(seen, sequence);
        dispatched = Math.max(dispatched, sequence);
        if (seen[sequence] === 1) {
          duplicated++;
          continue;
        }
        seen[sequence] = 1;
        stored++;
        again += attempt - 1;
        training += Number(phase === 'train');
        voidEpisodes += Number(phase === 'train' && trust === 'void');
        const outcome = failure ?? 'success';
        byOutcome[outcome] = (byOutcome[outcome] ?? 0) + 1;
      }
    }
  }
  return {
    dispatched,
    stored,
    lost: dispatched - stored,
    duplicated,
    damaged,
    training,
    void: voidEpisodes,
    again,
    ...countDeaths(paths),
    byOutcome,
    sumsAgree: agrees(paths, stored, byOutcome),
  };
}

function countDeaths(paths: RunPaths): Pick<RunCount, 'deathEvents' | 'sentBack'> {
  let [deathEvents, sentBack] = [0, 0];
  for (const number of segmentNumbers(paths.segments)) {
    for (const stretch of scanSegment(paths.segments, number)) {
      if (stretch.type === 'damage' || stretch.record.kind !== 'event') continue;
      const { kind, message } = eventSchema.parse(stretch.record.header);
      if (kind !== 'worker-died') continue;
      deathEvents++;
      sentBack += Number(SENT_BACK.exec(message)?.[1] ?? 0);
    }
  }
  return { deathEvents, sentBack };
}

function agrees(paths: RunPaths, stored: number, byOutcome: Readonly<Record<string, number>>): boolean {
  const reader = openRunReader(paths);
  try {
    const all = parseFilter('');
    const counts = reader.failureCounts(all);
    const sum = Object.values(counts).reduce((total, count) => total + count, 0);
    const isSame = ['success', ...FAILURE_TYPES].every((key) => (counts[key] ?? 0) === (byOutcome[key] ?? 0));
    return isSame && sum === stored && reader.countEpisodes(all) === stored;
  } finally {
    reader.close();
  }
}

function grown(bytes: Uint8Array<ArrayBuffer>, index: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(2 * bytes.length, index + 1));
  larger.set(bytes);
  return larger;
}
