import { type EpisodeBody, resolveLines } from '../domain/episode.ts';
import type { Execution, ExecutionRequest } from '../protocol/replay.ts';
import type { StoredEpisode } from '../store/queries.ts';

/** What a stored episode was, in the shape of an execution, to be compared with one. */
export interface RecordedExecution extends Pick<Execution, 'steps' | 'finalLines' | 'finalAgent' | 'end'> {
  /** It was made before steps had their tool: absent ones say nothing. */
  readonly lacksTools?: boolean;
}

/** What a run says of how its episodes are done again. */
export type ExecutionSettings = Pick<ExecutionRequest, 'env' | 'rewards' | 'stepTimeoutMs' | 'liveTools'>;

/** The record as an execution. Its numbers are rounded to six decimals. */
export function recordedExecution({ summary, body }: StoredEpisode): RecordedExecution {
  const { terminated, success, failure, trust, tools } = summary;
  const kept = body.steps.reduce((count, { tool }) => count + Number(tool !== undefined), 0);
  return {
    steps: body.steps.map((step) => {
      const { action, effective, reward, parts, tool, ms, state, agent } = step;
      const { policyVersion, probability, value } = step;
      return {
        lines: resolveLines(body, step.observation),
        candidates: [...(body.candidateSets[step.candidates] ?? [])],
        action,
        effective,
        reward,
        parts,
        ...(tool === undefined ? {} : { tool }),
        ...(ms === undefined ? {} : { ms }),
        ...(state === undefined ? {} : { state }),
        decision: { policyVersion, probability, value, recordedProbability: probability },
        ...(agent === undefined ? {} : { agent }),
      };
    }),
    finalLines: resolveLines(body, body.finalObservation),
    ...(body.finalAgent === undefined ? {} : { finalAgent: body.finalAgent }),
    lacksTools: kept < tools.calls,
    end: trust === 'void' ? null : { terminated, success, failure },
  };
}

/** What has to be known to do a stored episode again with its actions. */
export function executionRequest(
  { summary, body }: StoredEpisode,
  settings: ExecutionSettings,
): ExecutionRequest {
  const actions = body.steps.map(({ action }) => action);
  const { task, seed } = summary;
  return { ...settings, task, seed, actions, acting: null, calls: callsOf(body) };
}

function callsOf({ steps, resetCalls = [] }: EpisodeBody): ExecutionRequest['calls'] {
  return [
    ...resetCalls.map((call) => ({ ...call, step: 0 })),
    ...steps.flatMap(({ calls = [] }, index) => calls.map((call) => ({ ...call, step: index + 1 }))),
  ];
}
