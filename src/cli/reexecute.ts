import { readFileSync } from 'node:fs';
import { loadConfig } from '../config/load.ts';
import type { Execution, ExecutionRequest } from '../protocol/replay.ts';
import { type PolicySettings, policyRequest } from '../replay/acting.ts';
import { type Fork, type ForkPlan, forkOf, forkRequests } from '../replay/fork.ts';
import type { ReplayMode } from '../replay/modes.ts';
import { type ExecutionSettings, executionRequest } from '../replay/recorded.ts';
import { listPolicies } from '../run/policy-shelf.ts';
import { openRunReader, type StoredEpisode } from '../store/queries.ts';
import { type RunPaths, runPaths } from '../store/run-directory.ts';
import { executeTogether, type LoadWeights, Replayer } from './replayer.ts';

/** What a run has for doing its episodes again. */
export interface ReplayGround {
  readonly settings: ExecutionSettings;
  readonly policy: PolicySettings;
  readonly weights: LoadWeights;
}

/** Reads a run's config, and which policies are kept. Throws `config-invalid`. */
export function replayGround(paths: RunPaths, liveTools = false): ReplayGround {
  const { config } = loadConfig(readFileSync(paths.config, 'utf8'), { file: paths.config });
  const { env, rewards, policy, sampling } = config;
  const { stepTimeoutMs, episodeTimeoutMs, maxSteps } = sampling;
  const kept = listPolicies(paths.checkpoints);
  return {
    settings: { env, rewards, stepTimeoutMs, liveTools },
    policy: { policy, maxSteps, episodeTimeoutMs, versions: kept.map(({ version }) => version) },
    weights: (version) => {
      const found = kept.find((each) => each.version === version);
      if (found === undefined) throw new Error(`policy v${version} is not kept`);
      return found.load();
    },
  };
}

/** What has to be done to do a stored episode again, with its actions or by its policy. */
export function requestOf(
  episode: StoredEpisode,
  { settings, policy }: ReplayGround,
  mode: ReplayMode,
): ExecutionRequest {
  return mode === 'policy' ? policyRequest(episode, settings, policy) : executionRequest(episode, settings);
}

/** Does one stored episode again, with its actions or by its policy. Throws `episode-not-found`, or `environment-invalid` without its environment. */
export async function reexecute(
  runs: string,
  runId: string,
  episodeId: string,
  mode: ReplayMode = 'actions',
): Promise<Execution> {
  const paths = runPaths(runs, runId);
  const ground = replayGround(paths);
  const reader = openRunReader(paths);
  const replayer = new Replayer(ground.weights);
  try {
    return await replayer.execute(requestOf(reader.episode(episodeId), ground, mode));
  } finally {
    reader.close();
    replayer.close();
  }
}

/** Continues a stored episode from one of its steps in another way. Throws as `forkRequests` and `reexecute` do. */
export async function forkEpisode(
  { settings, policy, weights }: ReplayGround,
  episode: StoredEpisode,
  plan: ForkPlan,
): Promise<Fork> {
  const requests = forkRequests(episode, settings, policy, plan);
  return forkOf(episode, plan, await executeTogether(requests, weights));
}

/** The same for an episode of a run by its id. */
export async function forkStored(runs: string, runId: string, id: string, plan: ForkPlan): Promise<Fork> {
  const paths = runPaths(runs, runId);
  const reader = openRunReader(paths);
  try {
    return await forkEpisode(replayGround(paths), reader.episode(id), plan);
  } finally {
    reader.close();
  }
}
