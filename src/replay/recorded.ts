import { type EpisodeBody, resolveLines } from '../domain/episode.ts';
import { TERMINATED_FAILURES } from '../domain/failure.ts';
import type { Execution, ExecutionRequest } from '../protocol/replay.ts';
import type { StoredEpisode } from '../store/queries.ts';

/** What a stored episode was, in the shape of an execution, to be compared with one. */
export type RecordedExecution = Pick<Execution, 'steps' | 'finalLines' | 'end'>;

/** The record as an execution. Its numbers are rounded to six decimals. */
export function recordedExecution({ summary, body }: StoredEpisode): RecordedExecution {
  const { terminated, success, trust } = summary;
  const failure = TERMINATED_FAILURES.find((one) => one === summary.failure) ?? null;
  return {
    steps: body.steps.map((step) => ({
      lines: resolveLines(body, step.observation),
      candidates: [...(body.candidateSets[step.candidates] ?? [])],
      action: step.action,
      effective: step.effective,
      reward: step.reward,
      parts: step.parts,
    })),
    finalLines: resolveLines(body, body.finalObservation),
    // Success without termination is a limit that was reached: the sampler's word, not the environment's.
    end:
      trust === 'void'
        ? null
        : { terminated, success: terminated && success, failure: terminated ? failure : null },
  };
}

/** What has to be known to do a stored episode again. */
export function executionRequest(
  { summary, body }: StoredEpisode,
  rest: Pick<ExecutionRequest, 'env' | 'rewards' | 'stepTimeoutMs'>,
): ExecutionRequest {
  return { ...rest, task: summary.task, seed: summary.seed, actions: actionsOf(body) };
}

function actionsOf(body: EpisodeBody): ExecutionRequest['actions'] {
  return body.steps.map(({ action }) => action);
}
