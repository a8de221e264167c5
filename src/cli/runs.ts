import { LabError } from '../domain/error.ts';
import { isFinal, type RunManifest } from '../domain/run.ts';
import {
  isRunLive,
  listRuns,
  type RunListing,
  type RunPaths,
  readManifest,
  runPaths,
} from '../store/run-directory.ts';

export interface FoundRun {
  readonly id: string;
  readonly paths: RunPaths;
  readonly manifest: RunManifest;
  readonly live: boolean;
}

/** The run of that id, or without one the newest live run. Throws `run-not-found`, or `run-not-live` if none is live. */
export function findLiveRun(runsDirectory: string, id: string | undefined): FoundRun {
  if (id !== undefined) return findById(runsDirectory, id);
  const readable = listRuns(runsDirectory)
    .map(asFound)
    .filter((run) => run !== null);
  const live = readable.find((run) => run.live);
  if (live !== undefined) return live;
  const [newest] = readable;
  if (newest === undefined) throw noRuns(runsDirectory);
  throw new LabError('run-not-live', {
    message: `no run in ${runsDirectory} is live; the newest, ${newest.id}, is ${runState(newest)}`,
    hint: `start it again from its last checkpoint with: agentrl-lab resume ${newest.id}`,
  });
}

/** The run of that id, or without one the newest live run, or else the newest of all. Throws `run-not-found`. */
export function findRun(runsDirectory: string, id: string | undefined): FoundRun {
  if (id !== undefined) return findById(runsDirectory, id);
  const readable = listRuns(runsDirectory)
    .map(asFound)
    .filter((run) => run !== null);
  const found = readable.find((run) => run.live) ?? readable[0];
  if (found === undefined) throw noRuns(runsDirectory);
  return found;
}

/** The newest run of all. Throws `run-not-found`. */
export function findNewestRun(runsDirectory: string, id: string | undefined): FoundRun {
  if (id !== undefined) return findById(runsDirectory, id);
  const newest = listRuns(runsDirectory)
    .map(asFound)
    .find((run) => run !== null);
  if (newest === undefined || newest === null) throw noRuns(runsDirectory);
  return newest;
}

/** Its state; `died` when its process is gone without having said how the run ended. */
export function runState(run: Pick<FoundRun, 'manifest' | 'live'>): string {
  const { state } = run.manifest;
  return run.live || isFinal(state) ? state : 'died';
}

function findById(runsDirectory: string, id: string): FoundRun {
  const paths = runPaths(runsDirectory, id);
  const manifest = readManifest(paths);
  return { id, paths, manifest, live: isRunLive(paths) };
}

function asFound({ id, paths, manifest, live }: RunListing): FoundRun | null {
  return manifest === null ? null : { id, paths, manifest, live };
}

function noRuns(runsDirectory: string): LabError {
  return new LabError('run-not-found', {
    message: `there are no runs in ${runsDirectory}`,
    hint: 'start one with: agentrl-lab run; or name the directory with --runs',
  });
}
