import { policySeed } from '../domain/episode-seed.ts';
import { LabError } from '../domain/error.ts';
import type { PolicySpec } from '../domain/policy-spec.ts';
import type { Acting, ExecutionRequest } from '../protocol/replay.ts';
import type { StoredEpisode } from '../store/queries.ts';
import { type ExecutionSettings, executionRequest } from './recorded.ts';

/** What a run says of how its policy acts, and the versions whose weights are there. */
export interface PolicySettings extends Pick<Acting, 'maxSteps' | 'episodeTimeoutMs'> {
  readonly policy: PolicySpec;
  readonly versions: readonly number[];
}

/**
 * The request to let the policy act again from the first step: the version that acted in each, or the nearest one there is. Throws
 * `checkpoint-missing` when there is none.
 */
export function policyRequest(
  episode: StoredEpisode,
  settings: ExecutionSettings,
  policy: PolicySettings,
): ExecutionRequest {
  const { summary } = episode;
  // How far a void episode, or one that ran out of time, came is not for the policy to say.
  const isCutOff = summary.trust === 'void' || summary.failure === 'wall_clock';
  const maxSteps = isCutOff ? Math.max(1, summary.steps) : policy.maxSteps;
  const acting = actingOf(episode, { ...policy, maxSteps }, policySeed(summary.seed));
  return { ...executionRequest(episode, settings), actions: [], acting };
}

/** Who acts where recorded actions end; `version`: the policy that does from the step of that index (from 0) on. */
export function actingOf(
  { summary, body }: StoredEpisode,
  { policy, versions, maxSteps, episodeTimeoutMs }: PolicySettings,
  seed: number,
  version: { readonly from: number; readonly wanted: number } | null = null,
): Acting {
  const wanted = body.steps.map(({ policyVersion }, index) =>
    version !== null && index >= version.from ? version.wanted : policyVersion,
  );
  return {
    policy,
    mode: summary.mode,
    seed,
    versions: (wanted.length === 0 ? [summary.policyVersion] : wanted).map((each) =>
      nearestVersion(versions, each),
    ),
    maxSteps,
    episodeTimeoutMs,
    recorded: body.steps.map(({ action }) => action),
  };
}

/** The version itself where it is there, else the one that fewest updates lie between; the older of two. */
export function nearestVersion(versions: readonly number[], wanted: number): number {
  const [nearest] = versions.toSorted((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted) || a - b);
  if (nearest !== undefined) return nearest;
  throw new LabError('checkpoint-missing', {
    message: `no weights of the policy are kept, and v${wanted} is wanted`,
    hint: 'checkpoint.policies and checkpoint.keep in the config say what is kept; a run keeps the first with its first evaluation',
  });
}
