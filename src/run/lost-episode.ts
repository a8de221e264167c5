import { type Assignment, type EpisodeSummary, NO_STAGES } from '../domain/episode.ts';
import type { FailureType } from '../domain/failure.ts';
import { NO_TOOLS } from '../domain/tool.ts';
import type { LifelineNews } from '../protocol/lifeline.ts';

/** Where an episode was lost, and why it is not tried again. */
export interface EpisodeLoss {
  readonly host: string;
  readonly worker: number;
  readonly failure: FailureType;
  readonly detail: string;
  /** How long it is known to have lasted, ms. */
  readonly ms: number;
}

/** The record of an episode that was lost with its worker, and will not be tried again: void, with no steps to show. */
export function lostEpisode(assignment: Assignment, loss: EpisodeLoss): EpisodeSummary {
  const { host, worker, failure, detail, ms } = loss;
  return {
    ...assignment,
    host,
    worker,
    taskSeed: 0,
    difficulty: 0,
    slot: 0,
    firstPolicyVersion: 0,
    policyVersion: 0,
    steps: 0,
    startedAt: Date.now() - ms,
    wallMs: ms,
    terminated: false,
    truncated: false,
    success: false,
    failure,
    failureDetail: detail,
    trust: 'void',
    reward: null,
    components: {},
    behaviours: [],
    tags: [],
    tools: NO_TOOLS,
    stages: NO_STAGES,
  };
}

/** What the episode that ended its worker failed of. */
export function culpritFailure({
  kind,
  stage,
  ms,
}: LifelineNews): Pick<EpisodeLoss, 'failure' | 'detail' | 'ms'> {
  return kind === 'left'
    ? { failure: 'env_crash', detail: `the environment ended its process in ${stage}`, ms }
    : {
        failure: 'env_timeout',
        detail: `the environment's ${stage} did not end within ${ms} ms; its worker was killed`,
        ms,
      };
}
