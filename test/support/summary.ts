import { type EpisodeSummary, NO_STAGES } from '../../src/domain/episode.ts';
import { episodeId } from '../../src/domain/id.ts';
import { NO_TOOLS } from '../../src/domain/tool.ts';

/** A plain successful training episode, with whatever a test wants changed. */
export function episodeSummary(changes: Partial<EpisodeSummary> = {}): EpisodeSummary {
  return {
    id: episodeId(1),
    task: { env: 'workbench', family: 'reference', split: 'train', index: 0 },
    seed: 1,
    phase: 'train',
    mode: 'sampled',
    iteration: 1,
    attempt: 1,
    taskSeed: 1,
    difficulty: 1,
    host: 'local',
    worker: 0,
    slot: 0,
    firstPolicyVersion: 0,
    policyVersion: 0,
    steps: 6,
    startedAt: 0,
    wallMs: 1,
    terminated: true,
    truncated: false,
    success: true,
    failure: null,
    failureDetail: null,
    failureStage: null,
    trust: 'valid',
    reward: 1,
    components: { success: 1 },
    behaviours: [],
    tags: [],
    tools: NO_TOOLS,
    stages: NO_STAGES,
    ...changes,
  };
}
