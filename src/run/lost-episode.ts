import type { Assignment, EpisodeSummary } from '../domain/episode.ts';
import type { Stuck } from '../protocol/lifeline.ts';

/** The record of an episode whose worker had to be killed for it: void, with no steps to show. */
export function stuckEpisode(
  assignment: Assignment,
  place: { readonly host: string; readonly worker: number },
  stuck: Stuck,
): EpisodeSummary {
  return {
    ...assignment,
    ...place,
    taskSeed: 0,
    difficulty: 0,
    slot: 0,
    firstPolicyVersion: 0,
    policyVersion: 0,
    steps: 0,
    startedAt: Date.now() - stuck.ms,
    wallMs: stuck.ms,
    terminated: false,
    truncated: false,
    success: false,
    failure: 'env_timeout',
    failureDetail: `the environment's ${stuck.stage} did not end within ${stuck.ms} ms; its worker was killed`,
    trust: 'void',
    reward: null,
    components: {},
    behaviours: [],
  };
}
