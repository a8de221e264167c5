import { resolveLines, type StepRecord } from '../domain/episode.ts';
import { LAB_VERSION } from '../domain/lab-version.ts';
import { formatTaskRef } from '../domain/task.ts';
import type { StoredEpisode } from '../store/queries.ts';
import { isoTime } from './table.ts';

/**
 * The version of the Agent Trajectory Interchange Format that is written: RFC 0001 of the Harbor framework. 1.8 differs by audio
 * alone, of which an episode has none, and is read by fewer.
 */
export const ATIF_VERSION = 'ATIF-v1.7';

/**
 * An episode as one ATIF document. The first step is the user's: the observation before the first action. Each action is an
 * agent's step with one tool call, named after the action's type, and what was observed after it as that call's result. What
 * the format has no field for is in `extra`: reward and its parts, value, entropy and probability (an action is no token, so
 * there is no `logprobs`).
 */
export function toAtif(run: string, { summary, body }: StoredEpisode): object {
  const observed = (index: number): string =>
    resolveLines(body, body.steps[index]?.observation ?? body.finalObservation).join('\n');
  const modelName = (policyVersion: number): string => `${run} policy ${policyVersion}`;
  const { id, task, seed, taskSeed, phase, mode, iteration, success, failure, failureDetail } = summary;
  return {
    schema_version: ATIF_VERSION,
    session_id: run,
    trajectory_id: `${run}/${id}`,
    agent: { name: 'agentrl-lab', version: LAB_VERSION, model_name: modelName(summary.policyVersion) },
    steps: [
      {
        step_id: 1,
        timestamp: isoTime(summary.startedAt),
        source: 'user',
        message: observed(0),
      },
      ...body.steps.map((step, index) => ({
        ...agentStep(id, step, { index, after: observed(index + 1) }),
        // An episode may span updates: a step's own policy, where it is not the one that ended it.
        ...(step.policyVersion === summary.policyVersion
          ? {}
          : { model_name: modelName(step.policyVersion) }),
      })),
    ],
    final_metrics: { total_steps: body.steps.length + 1 },
    extra: {
      run,
      episode: id,
      task: formatTaskRef(task),
      task_seed: taskSeed,
      seed,
      phase,
      mode,
      iteration,
      success,
      failure,
      failure_detail: failureDetail,
      terminated: summary.terminated,
      truncated: summary.truncated,
      reward: summary.reward,
      reward_trust: summary.trust,
      reward_components: summary.components,
      behaviours: summary.behaviours,
      attempt: summary.attempt,
      difficulty: summary.difficulty,
      tags: summary.tags,
      failure_stage: summary.failureStage,
      wall_ms: summary.wallMs,
      stages: {
        reset_ms: summary.stages.resetMs,
        step_ms: summary.stages.stepMs,
        inference_ms: summary.stages.inferenceMs,
      },
      tools: summary.tools.byName,
      ...(summary.agentRewards === undefined ? {} : { agent_rewards: summary.agentRewards }),
    },
  };
}

function agentStep(
  episode: string,
  step: StepRecord,
  { index, after }: { readonly index: number; readonly after: string },
): object {
  const { type, argument } = step.action;
  const call = `${episode}-${index + 1}`;
  return {
    step_id: index + 2,
    source: 'agent',
    message: '',
    tool_calls: [
      {
        tool_call_id: call,
        function_name: type,
        arguments: argument === null ? {} : { argument },
        ...(step.tool === undefined ? {} : { extra: { tool: step.tool } }),
      },
    ],
    observation: { results: [{ source_call_id: call, content: after }] },
    metrics: {
      extra: {
        probability: step.probability,
        value: step.value,
        entropy: step.entropy,
        policy_version: step.policyVersion,
      },
    },
    extra: {
      reward: step.reward,
      reward_parts: step.parts,
      effective: step.effective,
      ...(step.agent === undefined ? {} : { agent: step.agent }),
      ...(step.ms === undefined ? {} : { ms: step.ms }),
      ...(step.state === undefined ? {} : { state: step.state }),
    },
  };
}
