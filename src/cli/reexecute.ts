import { readFileSync } from 'node:fs';
import { loadConfig } from '../config/load.ts';
import type { Execution, ExecutionRequest } from '../protocol/replay.ts';
import { executionRequest } from '../replay/recorded.ts';
import { openRunReader } from '../store/queries.ts';
import { type RunPaths, runPaths } from '../store/run-directory.ts';
import { Replayer } from './replayer.ts';

/** What a run's config says of how its episodes are done again. Throws `config-invalid`. */
export function executionSettings(
  paths: RunPaths,
): Pick<ExecutionRequest, 'env' | 'rewards' | 'stepTimeoutMs'> {
  const { config } = loadConfig(readFileSync(paths.config, 'utf8'), { file: paths.config });
  return { env: config.env, rewards: config.rewards, stepTimeoutMs: config.sampling.stepTimeoutMs };
}

/** Does one stored episode again. Throws `episode-not-found`, or `environment-invalid` without its environment. */
export async function reexecute(runs: string, runId: string, episodeId: string): Promise<Execution> {
  const paths = runPaths(runs, runId);
  const reader = openRunReader(paths);
  const replayer = new Replayer();
  try {
    return await replayer.execute(executionRequest(reader.episode(episodeId), executionSettings(paths)));
  } finally {
    reader.close();
    replayer.close();
  }
}
