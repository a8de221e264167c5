import { setTimeout as sleep } from 'node:timers/promises';
import { LabError } from '../domain/error.ts';
import { type Checkpoint, loadCheckpoint, loadCheckpointOf } from '../run/checkpoint.ts';
import { labCommand } from './lab-command.ts';
import { printNote } from './output.ts';
import { type FoundRun, findNewestRun } from './runs.ts';

/** A live run may be replacing the very checkpoint that is read. */
const RETRY_MS = 300;

/** One checkpoint of a run. */
export interface FoundCheckpoint {
  readonly run: FoundRun;
  readonly checkpoint: Checkpoint;
}

/**
 * The checkpoint that `RUN@ITERATION` names; the newest sound one of the run without an iteration, with a note about those
 * passed over. Throws `usage`, `run-not-found`, `checkpoint-missing` or `checkpoint-corrupt`.
 */
export async function findCheckpoint(runsDirectory: string, place: string): Promise<FoundCheckpoint> {
  const { id, iteration } = parsePlace(place);
  const run = findNewestRun(runsDirectory, id);
  try {
    return { run, checkpoint: read(run, iteration) };
  } catch (thrown) {
    if (!run.live || !(thrown instanceof LabError)) throw thrown;
    await sleep(RETRY_MS);
    return { run, checkpoint: read(run, iteration) };
  }
}

function read(run: FoundRun, iteration: number | null): Checkpoint {
  if (iteration !== null) return loadCheckpointOf(run.paths.checkpoints, iteration);
  const { checkpoint, skipped } = loadCheckpoint(run.paths.checkpoints);
  if (checkpoint === null) {
    throw new LabError('checkpoint-missing', {
      message: `run ${run.id} has no checkpoint yet`,
      hint: run.live
        ? `write one now with: ${labCommand('checkpoint', run.id)}`
        : 'it ended before its first one',
    });
  }
  for (const { message } of skipped) printNote(`${message}; iteration ${checkpoint.iteration} is used`);
  return checkpoint;
}

function parsePlace(place: string): { readonly id: string; readonly iteration: number | null } {
  const [id = '', iteration, ...rest] = place.split('@');
  if (id === '' || rest.length > 0 || (iteration !== undefined && !/^\d{1,8}$/u.test(iteration))) {
    throw new LabError('usage', {
      message: `"${place}" names no checkpoint; wanted RUN, or RUN@ITERATION as in demo-20260101-120000@300`,
      hint: 'list the runs with: agentrl-lab ls',
    });
  }
  return { id, iteration: iteration === undefined ? null : Number(iteration) };
}
