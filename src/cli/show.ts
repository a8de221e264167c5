import { resolveLines, type StepRecord } from '../domain/episode.ts';
import { FAILURES } from '../domain/failure.ts';
import { formatAction } from '../domain/space.ts';
import { formatTaskRef } from '../domain/task.ts';
import { visibleText } from '../domain/visible-text.ts';
import type { StoredEpisode } from '../store/queries.ts';
import { formatNumber } from './format.ts';

/**
 * An episode step by step. Of an observation only the lines are shown that the one before, of the same agent, did not have. Text of the agent and the environment has its control characters made visible.
 */
export function formatEpisode({ summary, body }: StoredEpisode): string[] {
  const lines = [...formatHead(summary)];
  const before = new Map<string | undefined, ReadonlySet<number>>();
  const observe = (observation: readonly number[], agent: string | undefined): void => {
    const seen = before.get(agent);
    const fresh = observation.filter((line) => seen?.has(line) !== true);
    before.set(agent, new Set(observation));
    lines.push(...resolveLines(body, fresh).map((line) => `  | ${visibleText(line)}`));
  };
  for (const [index, step] of body.steps.entries()) {
    const who = step.agent === undefined ? '' : `  ${visibleText(step.agent)}`;
    lines.push('', `step ${index + 1} of ${body.steps.length}${who}  ${formatPolicy(step)}`);
    observe(step.observation, step.agent);
    lines.push(`  > ${visibleText(formatAction(step.action))}`, `  ${formatReward(step)}`);
  }
  lines.push('', 'end');
  observe(body.finalObservation, body.finalAgent);
  lines.push(`  ${formatOutcome(summary)}`);
  return lines;
}

function formatHead(summary: StoredEpisode['summary']): string[] {
  const place = `${summary.host}, worker ${summary.worker}, slot ${summary.slot}`;
  return [
    `episode ${summary.id}  ${visibleText(formatTaskRef(summary.task))}  difficulty ${formatNumber(summary.difficulty)}`,
    `${summary.phase}, ${summary.mode} policy ${summary.policyVersion}, iteration ${summary.iteration}, seed ${summary.seed}, ${place}`,
    formatOutcome(summary),
    ...formatCounts(summary),
  ];
}

/** Tags, tools and where the time went; nothing of what an episode has not got. */
function formatCounts({ tags, tools, stages, steps, agentRewards }: StoredEpisode['summary']): string[] {
  const lines: string[] = [];
  if (agentRewards !== undefined) {
    const each = Object.entries(agentRewards);
    const paid = each.map(([name, reward]) => `${visibleText(name)} ${formatNumber(reward)}`);
    lines.push(`agents ${paid.join(', ')}`);
  }
  if (tags.length > 0) lines.push(`tags ${tags.map(visibleText).join(', ')}`);
  if (tools.calls > 0) {
    const byName = Object.entries(tools.byName).map(([name, { calls, failed, ms }]) => {
      const length = ms === undefined ? '' : ` in ${formatNumber(ms)} ms`;
      return `${visibleText(name)} ${calls}${failed > 0 ? ` (${failed} failed)` : ''}${length}`;
    });
    const failed = tools.failed > 0 ? `, ${tools.failed} failed` : '';
    lines.push(`tools ${tools.calls} ${tools.calls === 1 ? 'call' : 'calls'}${failed}: ${byName.join(', ')}`);
  }
  const { resetMs, stepMs, inferenceMs } = stages;
  if (steps > 0 && resetMs + stepMs + inferenceMs > 0) {
    const parts = { reset: resetMs, steps: stepMs, 'inference and waiting': inferenceMs };
    const shown = Object.entries(parts).map(([name, ms]) => `${name} ${formatNumber(ms)} ms`);
    lines.push(`time ${shown.join(' · ')}`);
  }
  return lines;
}

function formatOutcome(summary: StoredEpisode['summary']): string {
  const { failure, failureDetail, behaviours } = summary;
  const outcome = failure === null ? 'success' : `${failure}: ${FAILURES[failure].meaning}`;
  const parts = [
    failureDetail === null ? outcome : `${outcome} (${visibleText(failureDetail)})`,
    `reward ${formatNumber(summary.reward)}${summary.trust === 'valid' ? '' : ` (${summary.trust})`}`,
    `${summary.steps} steps in ${Math.round(summary.wallMs)} ms`,
    ...(behaviours.length > 0 ? [behaviours.join(', ')] : []),
  ];
  return parts.join(' · ');
}

function formatPolicy(step: StepRecord): string {
  return [
    `p ${formatNumber(step.probability)}`,
    `value ${formatNumber(step.value)}`,
    `entropy ${formatNumber(step.entropy)}`,
    `policy ${step.policyVersion}`,
  ].join('  ');
}

function formatReward(step: StepRecord): string {
  const parts = step.parts.map(({ name, paid, weighted, agent }) => {
    const capped = paid === weighted ? '' : ` of ${formatNumber(weighted)}`;
    const to = agent === undefined ? '' : ` to ${visibleText(agent)}`;
    return `${visibleText(name)}${to} ${formatNumber(paid)}${capped}`;
  });
  return [`reward ${formatNumber(step.reward)}`, ...parts].join('  ');
}
