import { type Assignment, type EpisodeSummary, NO_STAGES } from '../domain/episode.ts';
import type { FailureStage, FailureType } from '../domain/failure.ts';
import { NO_TOOLS } from '../domain/tool.ts';
import type { LifelineNews } from '../protocol/lifeline.ts';

/** Where an episode was lost, and why it is not tried again. */
export interface EpisodeLoss {
  readonly host: string;
  readonly worker: number;
  readonly failure: FailureType;
  readonly detail: string;
  /** Null where nobody can say. */
  readonly stage: FailureStage | null;
  /** How long it is known to have lasted, ms. */
  readonly ms: number;
}

/** The record of an episode that was lost with its worker, and will not be tried again: void, with no steps to show. */
export function lostEpisode(assignment: Assignment, loss: EpisodeLoss): EpisodeSummary {
  const { host, worker, failure, detail, stage, ms } = loss;
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
    failureStage: stage,
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
export function culpritFailure(
  { kind, stage, ms, memoryMiB }: LifelineNews,
  reason: string,
): Omit<EpisodeLoss, 'host' | 'worker'> {
  switch (kind) {
    case 'left':
      return { failure: 'env_crash', detail: `the environment ended its process in ${stage}`, stage, ms };
    case 'memory':
    case 'grew': {
      const end = kind === 'memory' ? 'its worker was killed' : `its worker ended: ${reason}`;
      const detail = `memory climbed to ${memoryMiB} MiB during the environment's ${stage}; ${end}`;
      return { failure: 'env_crash', detail, stage, ms };
    }
    case 'stuck':
    case 'busy':
    case 'ended': {
      const detail = `the environment's ${stage} did not end within ${ms} ms; its worker was killed`;
      return { failure: 'env_timeout', detail, stage, ms };
    }
  }
}
