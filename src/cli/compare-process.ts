import { setImmediate as breathe } from 'node:timers/promises';
import { connectToParent } from '../protocol/child.ts';
import {
  type ComparisonQuestion,
  type FromComparer,
  type ToComparer,
  toComparerSchema,
} from '../protocol/compare.ts';
import { sentError } from '../protocol/failure.ts';
import { alignedParts } from '../replay/aligned-rows.ts';
import { compareExecutions } from '../replay/compare.ts';
import type { Outcome } from '../replay/long-comparison.ts';
import { recordedExecution } from '../replay/recorded.ts';
import { RecordedPages, type Side, wholeSide } from '../replay/recorded-pages.ts';
import { openRunReader, type RunReader } from '../store/queries.ts';
import { type RunPaths, runPaths } from '../store/run-directory.ts';
import { replayGround, requestOf } from './reexecute.ts';
import { Replayer } from './replayer.ts';

/** Entry of the process that compares long episodes: see src/protocol/compare.ts. */

let replayer: Replayer | null = null;

const connection = connectToParent<ToComparer, FromComparer>({
  schema: toComparerSchema,
  onMessage: (message) => void answer(message),
  onEnd: () => replayer?.close(),
});

async function answer({ runs, run, question }: ToComparer): Promise<void> {
  let reader: RunReader | null = null;
  try {
    const paths = runPaths(runs, run);
    reader = openRunReader(paths);
    const { left, right, outcome } = await sidesOf(reader, paths, question);
    for (const { packed, same, step, of } of alignedParts(left, right)) {
      connection.send({ type: 'rows', step, of }, { packed, same });
      // What was sent goes out, and an end of the screen comes in.
      await breathe();
    }
    connection.send({
      type: 'compared',
      outcome: outcome === null ? null : { ...outcome, notes: [...outcome.notes] },
    });
  } catch (thrown) {
    connection.send({ type: 'failed', ...sentError(thrown) });
  } finally {
    reader?.close();
  }
}

interface Sides {
  readonly left: Side;
  readonly right: Side;
  readonly outcome: Outcome | null;
}

async function sidesOf(reader: RunReader, paths: RunPaths, question: ComparisonQuestion): Promise<Sides> {
  if (question.kind === 'episodes') {
    const [left, right] = [question.left, question.right].map(
      (id) => new RecordedPages(reader.longEpisode(id)),
    );
    if (left === undefined || right === undefined) throw new Error('two episodes are compared');
    return { left, right, outcome: null };
  }
  const ground = replayGround(paths);
  const episode = reader.episode(question.id);
  replayer = new Replayer(ground.weights);
  const execution = await replayer.execute(requestOf(episode, ground, question.mode));
  replayer.close();
  const recorded = recordedExecution(episode);
  const { verdict, reason, notes } = compareExecutions(recorded, execution);
  return { left: wholeSide(recorded), right: wholeSide(execution), outcome: { verdict, reason, notes } };
}
