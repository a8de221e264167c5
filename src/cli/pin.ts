import { hostname, userInfo } from 'node:os';
import { connectControl } from '../run/control-client.ts';
import { setPin } from '../store/pins.ts';
import { openRunReader } from '../store/queries.ts';
import { lockRun } from '../store/run-directory.ts';
import { printJson, printLine } from './output.ts';
import { type FoundRun, findNewestRun } from './runs.ts';

export interface PinOptions {
  readonly runs: string;
  readonly off?: boolean;
  readonly json?: boolean;
}

/** Has a run keep the steps of an episode whatever its byte budget, or lets it go again. The run may be live. */
export async function pinEpisode(id: string, episode: string, options: PinOptions): Promise<void> {
  const run = findNewestRun(options.runs, id);
  const pinned = options.off !== true;
  const name = checkEpisode(run, /^\d+$/u.test(episode) ? `e${episode}` : episode, pinned);
  const changed = run.live ? await askRun(run, name, pinned) : pinHere(run, name, pinned);
  if (options.json === true) {
    printJson({ run: run.id, episode: name, pinned, changed });
    return;
  }
  const before = changed ? '' : ' already';
  printLine(
    pinned ? `${name} of run ${run.id} is pinned${before}` : `${name} of run ${run.id} is not pinned`,
  );
}

/** One that is not there, or has no steps any more, is refused. */
function checkEpisode(run: FoundRun, episode: string, pinned: boolean): string {
  if (!pinned) return episode;
  const reader = openRunReader(run.paths);
  try {
    return reader.episode(episode).summary.id;
  } finally {
    reader.close();
  }
}

async function askRun(run: FoundRun, episode: string, pinned: boolean): Promise<boolean> {
  const client = await connectControl(run.manifest);
  try {
    return await client.pin(episode, pinned);
  } finally {
    client.close();
  }
}

function pinHere(run: FoundRun, episode: string, pinned: boolean): boolean {
  const lock = lockRun(run.paths);
  try {
    return setPin(run.paths, { episode, pinned, who: `${userInfo().username}@${hostname()}` });
  } finally {
    lock.release();
  }
}
