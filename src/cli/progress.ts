import type { Evaluation, IterationMetrics, RunManifest, RunStatus } from '../domain/run.ts';
import { visibleText } from '../domain/visible-text.ts';
import {
  formatAmount,
  formatCount,
  formatDuration,
  formatNumber,
  formatRate,
  formatShort,
} from './format.ts';
import { labCommand } from './lab-command.ts';

/** One iteration as one line for people; the columns stand below each other. */
export function formatIteration(metrics: IterationMetrics): string {
  return [
    `iteration ${String(metrics.iteration).padStart(4)}`,
    formatDuration(metrics.elapsedS).padStart(7),
    `${formatShort(metrics.episodes).padStart(5)} episodes`,
    `${formatShort(metrics.envSteps).padStart(5)} steps`,
    `${formatShort(metrics.envStepsPerS).padStart(5)}/s`,
    `reward ${metrics.reward.toFixed(3).padStart(6)}`,
    `success ${formatRate(metrics.success).padStart(7)}`,
    `held-out ${formatRate(metrics.heldOutSuccess).padStart(7)}`,
    // Rounding may leave a minus before nothing.
    `KL ${Math.abs(metrics.kl).toFixed(4)}`,
    `clipped ${formatRate(metrics.clipFraction).padStart(6)}`,
    `entropy ${metrics.entropy.toFixed(2)}`,
    `update ${metrics.updateS.toFixed(1)} s`,
    ...(metrics.voidShare > 0 ? [`void ${formatRate(metrics.voidShare)}`] : []),
  ].join('  ');
}

/** What a live run is doing now, and how long it still has. */
export function formatProgress(status: RunStatus): string {
  const doing = status.state === 'running' ? status.activity : status.state;
  return [
    `iteration ${status.iteration + 1}: ${doing} ${formatCount(status.queuedSteps)}/${formatCount(status.batchSteps)} steps`,
    `${formatShort(status.envStepsPerS)} steps/s`,
    status.limitS === null
      ? `${formatDuration(status.elapsedS)} so far`
      : `${formatDuration(status.limitS - status.elapsedS)} left`,
  ].join(' · ');
}

/** How a run ended and what came of it. `last` is its newest iteration, null when it had none. */
export function formatSummary(
  { id, state, reason }: Pick<RunManifest, 'id' | 'state' | 'reason'>,
  last: IterationMetrics | null,
  evaluations: readonly Evaluation[],
): string[] {
  const why = reason === null ? '' : ` (${visibleText(reason)})`;
  if (last === null) return [`run ${id} ${state}${why} before its first iteration`];
  const done = [
    formatAmount(last.iteration, 'iteration'),
    formatAmount(last.envSteps, 'step'),
    formatAmount(last.episodes, 'episode'),
  ].join(', ');
  const lines = [`run ${id} ${state}${why}: ${done} in ${formatDuration(last.elapsedS)}`];
  for (const mode of ['sampled', 'greedy'] as const) {
    const newest = evaluations.findLast((evaluation) => evaluation.mode === mode);
    if (newest === undefined) continue;
    const families = Object.entries(newest.byFamily)
      .toSorted(([left], [right]) => left.localeCompare(right))
      .map(([family, success]) => `${visibleText(family)} ${formatRate(success)}`);
    const count = `${formatAmount(newest.episodes, 'episode')}, iteration ${newest.iteration}`;
    lines.push(`held-out success, ${mode} policy: ${formatRate(newest.success)} (${count})`);
    if (families.length > 0) lines.push(`  ${families.join(', ')}`);
  }
  lines.push(`reward ${formatNumber(last.reward)}, success ${formatRate(last.success)} in the last batch`);
  lines.push(`look at its episodes: ${labCommand('episodes', '--run', id)}`);
  return lines;
}
