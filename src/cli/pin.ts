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

/** Has a run keep the steps of episodes whatever its byte budget, or lets them go again. The run may be live. */
export async function pinEpisodes(
  id: string,
  episodes: readonly string[],
  options: PinOptions,
): Promise<void> {
  const run = findNewestRun(options.runs, id);
  const pinned = options.off !== true;
  const names = checkEpisodes(
    run,
    episodes.map((episode) => (/^\d+$/u.test(episode) ? `e${episode}` : episode)),
    pinned,
  );
  const changed = run.live ? await askRun(run, names, pinned) : pinHere(run, names, pinned);
  for (const [index, name] of names.entries()) {
    const before = changed[index] === true ? '' : ' already';
    if (options.json === true) {
      printJson({ run: run.id, episode: name, pinned, changed: changed[index] === true });
    } else if (pinned) printLine(`${name} of run ${run.id} is pinned${before}`);
    else printLine(`${name} of run ${run.id} is not pinned`);
  }
}

/** One that is not there, or has no steps any more, is refused. */
function checkEpisodes(run: FoundRun, episodes: readonly string[], pinned: boolean): readonly string[] {
  if (!pinned) return episodes;
  const reader = openRunReader(run.paths);
  try {
    return episodes.map((episode) => reader.longEpisode(episode).summary.id);
  } finally {
    reader.close();
  }
}

async function askRun(run: FoundRun, episodes: readonly string[], pinned: boolean): Promise<boolean[]> {
  const client = await connectControl(run.manifest);
  try {
    return await Promise.all(episodes.map(async (episode) => await client.pin(episode, pinned)));
  } finally {
    client.close();
  }
}

function pinHere(run: FoundRun, episodes: readonly string[], pinned: boolean): boolean[] {
  const lock = lockRun(run.paths);
  const who = `${userInfo().username}@${hostname()}`;
  try {
    return episodes.map((episode) => setPin(run.paths, { episode, pinned, who }));
  } finally {
    lock.release();
  }
}
