import { agentCount, type EpisodeSummary, resolveLines, type StepRecord } from '../domain/episode.ts';
import { episodeSequence } from '../domain/id.ts';
import { snakeCase } from '../domain/metric.ts';
import { type IterationMetrics, iterationMetricsSchema } from '../domain/run.ts';
import { keysOf } from '../domain/table.ts';
import type { StoredEpisode } from '../store/queries.ts';
import type { CellType, TableColumn } from './table.ts';

/** One row an episode: what is indexed of it. The names are those of the view `episodes` in SQL. */
export function episodeColumns(run: string): TableColumn<EpisodeSummary>[] {
  return [
    { name: 'run', type: 'text', value: () => run },
    { name: 'id', type: 'text', value: ({ id }) => id },
    { name: 'sequence', type: 'integer', value: ({ id }) => episodeSequence(id) },
    { name: 'env', type: 'text', value: ({ task }) => task.env },
    { name: 'family', type: 'text', value: ({ task }) => task.family },
    { name: 'split', type: 'text', value: ({ task }) => task.split },
    { name: 'task_index', type: 'integer', value: ({ task }) => task.index },
    { name: 'task_seed', type: 'integer', value: ({ taskSeed }) => taskSeed },
    { name: 'seed', type: 'integer', value: ({ seed }) => seed },
    { name: 'phase', type: 'text', value: ({ phase }) => phase },
    { name: 'mode', type: 'text', value: ({ mode }) => mode },
    { name: 'iteration', type: 'integer', value: ({ iteration }) => iteration },
    { name: 'attempt', type: 'integer', value: ({ attempt }) => attempt },
    { name: 'difficulty', type: 'number', value: ({ difficulty }) => difficulty },
    { name: 'host', type: 'text', value: ({ host }) => host },
    { name: 'worker', type: 'integer', value: ({ worker }) => worker },
    { name: 'slot', type: 'integer', value: ({ slot }) => slot },
    {
      name: 'first_policy_version',
      type: 'integer',
      value: ({ firstPolicyVersion }) => firstPolicyVersion,
    },
    { name: 'policy_version', type: 'integer', value: ({ policyVersion }) => policyVersion },
    { name: 'steps', type: 'integer', value: ({ steps }) => steps },
    { name: 'started', type: 'time', value: ({ startedAt }) => startedAt },
    { name: 'wall_ms', type: 'number', value: ({ wallMs }) => wallMs },
    { name: 'terminated', type: 'flag', value: ({ terminated }) => terminated },
    { name: 'truncated', type: 'flag', value: ({ truncated }) => truncated },
    { name: 'success', type: 'flag', value: ({ success }) => success },
    { name: 'failure', type: 'text', value: ({ failure }) => failure },
    { name: 'failure_detail', type: 'text', value: ({ failureDetail }) => failureDetail },
    { name: 'trust', type: 'text', value: ({ trust }) => trust },
    { name: 'reward', type: 'number', value: ({ reward }) => reward },
    { name: 'components', type: 'text', value: ({ components }) => JSON.stringify(components) },
    { name: 'behaviours', type: 'texts', value: ({ behaviours }) => behaviours },
    { name: 'tags', type: 'texts', value: ({ tags }) => tags },
    { name: 'failure_stage', type: 'text', value: ({ failureStage }) => failureStage },
    { name: 'tool_calls', type: 'integer', value: ({ tools }) => tools.calls },
    { name: 'tool_failed', type: 'integer', value: ({ tools }) => tools.failed },
    { name: 'tools', type: 'text', value: ({ tools }) => JSON.stringify(tools.byName) },
    { name: 'agents', type: 'integer', value: (episode) => agentCount(episode) },
    {
      name: 'agent_rewards',
      type: 'text',
      value: ({ agentRewards }) => (agentRewards === undefined ? null : JSON.stringify(agentRewards)),
    },
    { name: 'reset_ms', type: 'number', value: ({ stages }) => stages.resetMs },
    { name: 'step_ms', type: 'number', value: ({ stages }) => stages.stepMs },
    { name: 'inference_ms', type: 'number', value: ({ stages }) => stages.inferenceMs },
  ];
}

/** A step in its episode, numbered from 1. */
export interface StepRow extends StoredEpisode {
  readonly step: StepRecord;
  readonly number: number;
}

/** One row a step. The names of what belongs to the episode are those of `episodeColumns`. */
export function stepColumns(run: string): TableColumn<StepRow>[] {
  const isLast = ({ body, number }: StepRow): boolean => number === body.steps.length;
  return [
    { name: 'run', type: 'text', value: () => run },
    { name: 'episode', type: 'text', value: ({ summary }) => summary.id },
    { name: 'sequence', type: 'integer', value: ({ summary }) => episodeSequence(summary.id) },
    { name: 'step', type: 'integer', value: ({ number }) => number },
    { name: 'family', type: 'text', value: ({ summary }) => summary.task.family },
    { name: 'split', type: 'text', value: ({ summary }) => summary.task.split },
    { name: 'phase', type: 'text', value: ({ summary }) => summary.phase },
    { name: 'iteration', type: 'integer', value: ({ summary }) => summary.iteration },
    { name: 'success', type: 'flag', value: ({ summary }) => summary.success },
    { name: 'agent', type: 'text', value: ({ step }) => step.agent ?? null },
    { name: 'observation', type: 'texts', value: ({ body, step }) => resolveLines(body, step.observation) },
    { name: 'action', type: 'text', value: ({ step }) => step.action.type },
    { name: 'argument', type: 'text', value: ({ step }) => step.action.argument },
    { name: 'probability', type: 'number', value: ({ step }) => step.probability },
    { name: 'value', type: 'number', value: ({ step }) => step.value },
    { name: 'entropy', type: 'number', value: ({ step }) => step.entropy },
    { name: 'policy_version', type: 'integer', value: ({ step }) => step.policyVersion },
    { name: 'effective', type: 'flag', value: ({ step }) => step.effective },
    { name: 'reward', type: 'number', value: ({ step }) => step.reward },
    { name: 'reward_parts', type: 'parts', value: ({ step }) => step.parts },
    { name: 'last', type: 'flag', value: isLast },
    {
      name: 'final_observation',
      type: 'texts',
      value: (row) => (isLast(row) ? resolveLines(row.body, row.body.finalObservation) : null),
    },
  ];
}

/** Fields of the metrics that are not plain numbers. */
const METRIC_TYPES: Partial<Record<keyof IterationMetrics, CellType>> = {
  iteration: 'integer',
  policyVersion: 'integer',
  attempt: 'integer',
  time: 'time',
  episodes: 'integer',
  envSteps: 'integer',
  batchEpisodes: 'integer',
  batchSteps: 'integer',
  heldOutByFamily: 'text',
  heldOutGreedyByFamily: 'text',
  components: 'text',
  staleCounts: 'text',
  stalest: 'integer',
  staleSteps: 'integer',
  minibatches: 'integer',
  stoppedEarly: 'flag',
};

/** One row an iteration. The names are those of the view `iterations` in SQL. */
export function metricColumns(run: string): TableColumn<IterationMetrics>[] {
  const columns = keysOf(iterationMetricsSchema.shape).map((field): TableColumn<IterationMetrics> => {
    const type = METRIC_TYPES[field] ?? 'number';
    return {
      name: snakeCase(field),
      type,
      value: (row) => {
        const value = row[field];
        return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
      },
    };
  });
  return [{ name: 'run', type: 'text', value: () => run }, ...columns];
}
