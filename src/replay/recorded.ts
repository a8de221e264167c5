import { type EpisodeBody, type EpisodeSummary, resolveLines, type StepRecord } from '../domain/episode.ts';
import type { ExecutedStep, Execution, ExecutionRequest } from '../protocol/replay.ts';
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
  const kept = body.steps.reduce((count, { tool }) => count + Number(tool !== undefined), 0);
  return {
    steps: body.steps.map((step) => recordedStep(body, step)),
    finalLines: resolveLines(body, body.finalObservation),
    ...(body.finalAgent === undefined ? {} : { finalAgent: body.finalAgent }),
    lacksTools: kept < summary.tools.calls,
    end: recordedEnd(summary),
  };
}

/** A step of a body as one of an execution. */
export function recordedStep(body: EpisodeBody, step: StepRecord): ExecutedStep {
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
}

/** How a stored episode ended; null for a void one, of which nobody can say. */
export function recordedEnd({ terminated, success, failure, trust }: EpisodeSummary): Execution['end'] {
  return trust === 'void' ? null : { terminated, success, failure };
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
