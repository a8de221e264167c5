import type { EpisodeSummary } from '../domain/episode.ts';
import type { ExecutedStep, Execution } from '../protocol/replay.ts';
import { type Comparison, isSame, VERDICTS, type Verdict } from './compare.ts';
import type { RecordedExecution } from './recorded.ts';

/** An episode that was done again. */
export interface Result {
  readonly episode: EpisodeSummary;
  readonly comparison: Comparison;
  readonly tools: readonly ToolScore[];
}

/** How deterministic episodes are: of all, of an environment, a family, a host. */
export interface Score {
  readonly of: string;
  readonly episodes: number;
  readonly verdicts: Readonly<Record<Verdict, number>>;
  /** Identical or cosmetic, of all; in [0, 1]. */
  readonly score: number;
}

/** How often a tool came to the same, of its uses and of its calls that were made again. */
export interface ToolScore {
  readonly tool: string;
  readonly calls: number;
  readonly same: number;
}

/** Scores of all, then by environment, family and host. */
export function scoresOf(results: readonly Pick<Result, 'episode' | 'comparison'>[]): Score[] {
  const groups = new Map<string, Verdict[]>();
  for (const { episode, comparison } of results) {
    const { task, host } = episode;
    for (const of of ['all', `environment ${task.env}`, `family ${task.family}`, `host ${host}`]) {
      groups.set(of, [...(groups.get(of) ?? []), comparison.verdict]);
    }
  }
  return [...groups]
    .toSorted(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map(([of, members]) => ({
      of,
      episodes: members.length,
      verdicts: countVerdicts(members),
      score: members.filter((verdict) => isSame(verdict)).length / members.length,
    }));
}

/** Where a group stands in the list. */
function rank(of: string): number {
  return ['all', 'environment', 'family', 'host'].indexOf(of.split(' ')[0] ?? '');
}

function countVerdicts(members: readonly Verdict[]): Record<Verdict, number> {
  const counts: Record<Verdict, number> = {
    identical: 0,
    cosmetic: 0,
    'environment drift': 0,
    'tool drift': 0,
    'policy drift': 0,
    broken: 0,
  };
  for (const verdict of VERDICTS) counts[verdict] = members.filter((member) => member === verdict).length;
  return counts;
}

/** How the tools of one episode did when it was done again, as far as the same was done. */
export function toolScoresOf(recorded: RecordedExecution, executed: Execution): ToolScore[] {
  const found: { tool: string; same: boolean }[] = [];
  for (const [index, before] of recorded.steps.entries()) {
    const after = executed.steps[index];
    if (after === undefined || !sameAction(before, after)) break;
    if (before.tool === undefined) continue;
    found.push({ tool: before.tool.name, same: sameUse(before.tool, after.tool) });
  }
  for (const { tool, from, recorded: was, same } of executed.calls) {
    if (from === 'outside' && was !== null) found.push({ tool, same });
  }
  return sumTools(found.map(({ tool, same }) => ({ tool, calls: 1, same: Number(same) })));
}

/** Scores of the same tool added up, by name. */
export function sumTools(scores: readonly ToolScore[]): ToolScore[] {
  const sums = new Map<string, { calls: number; same: number }>();
  for (const { tool, calls, same } of scores) {
    const before = sums.get(tool) ?? { calls: 0, same: 0 };
    sums.set(tool, { calls: before.calls + calls, same: before.same + same });
  }
  return [...sums].map(([tool, sum]) => ({ tool, ...sum })).toSorted((a, b) => (a.tool < b.tool ? -1 : 1));
}

function sameAction({ action: a }: ExecutedStep, { action: b }: ExecutedStep): boolean {
  return a.type === b.type && a.argument === b.argument;
}

function sameUse(a: NonNullable<ExecutedStep['tool']>, b: ExecutedStep['tool']): boolean {
  return b !== undefined && a.name === b.name && a.ok === b.ok && (a.attempts ?? 1) === (b.attempts ?? 1);
}
