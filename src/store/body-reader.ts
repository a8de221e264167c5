import { z } from 'zod';
import { LabError } from '../domain/error.ts';
import { archivePathOf } from './archive-files.ts';
import { describeKept } from './retention.ts';
import { isBeingReplaced } from './rewrite.ts';
import { partsOf, type RecordPlace, readRecord, readRecordAt, type StoredRecord } from './segment.ts';

const named = z.looseObject({ id: z.string() });

/** A rewritten segment takes the old one's place within this many looks, PATIENCE_MS apart. */
const LOOKS = 20;
const PATIENCE_MS = 10;

/**
 * Reads an episode's record from where `find` says that it is. A run that is compacted at this moment moves its records: then
 * `find` is asked again. Throws `episode-dropped` where the steps are gone, else as `readRecord`.
 */
export function readEpisodeRecord(directory: string, id: string, find: () => RecordPlace): StoredRecord {
  for (let look = 1; ; look += 1) {
    const place = find();
    if (place.length === 0) throw dropped(id);
    try {
      if (place.segment < 0)
        return ofEpisode(id, readRecordAt(archivePathOf(directory, -place.segment), place));
      return ofEpisode(id, readRecord(directory, place));
    } catch (thrown) {
      if (look === LOOKS || !hasMoved(directory, place, find)) throw thrown;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PATIENCE_MS);
    }
  }
}

/** Of a group the part that is the episode's; any other record as it is. */
function ofEpisode(id: string, record: StoredRecord): StoredRecord {
  return partsOf(record).find(({ header }) => named.safeParse(header).data?.id === id) ?? record;
}

function hasMoved(directory: string, place: RecordPlace, find: () => RecordPlace): boolean {
  const now = find();
  const isElsewhere =
    now.segment !== place.segment || now.offset !== place.offset || now.length !== place.length;
  return isElsewhere || isBeingReplaced(directory, Math.abs(place.segment));
}

function dropped(id: string): LabError {
  return new LabError('episode-dropped', {
    message: `the steps of ${id} were dropped to stay within store.budgetGiB; kept were: ${describeKept()}`,
    hint: 'what is indexed of it is still there: agentrl-lab sql "SELECT * FROM episodes" finds it by its id',
  });
}
