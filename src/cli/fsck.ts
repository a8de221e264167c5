import { readFileSync } from 'node:fs';
import { loadConfig } from '../config/load.ts';
import { checkRun, type FsckReport } from '../store/fsck.ts';
import type { TextReport } from '../store/text-repair.ts';
import { formatAmount } from './format.ts';
import { labCommand } from './lab-command.ts';
import { EXIT, printJson, printLine } from './output.ts';
import { findNewestRun } from './runs.ts';

export interface FsckOptions {
  readonly runs: string;
  readonly json?: boolean;
  readonly repair?: boolean;
}

/** Checks what a run has stored; with `repair`, rebuilds its index. Returns the exit code: 0 when all is well. */
export function fsckRun(id: string | undefined, options: FsckOptions): number {
  const run = findNewestRun(options.runs, id);
  const report = checkRun(run.paths, { repair: options.repair === true, text: wantsText(run.paths.config) });
  if (options.json === true) printJson({ run: run.id, ...report });
  else for (const line of formatReport(run.id, report)) printLine(line);
  const isSound = report.indexProblem === null || report.rebuilt;
  const isTextSound = report.text === null || report.text.problem === null || report.text.repaired;
  return isSound && isTextSound && report.segments.every(({ damage }) => damage.length === 0)
    ? EXIT.ok
    : EXIT.failed;
}

/** Whether the run was told to keep a text index; a config that cannot be read does not say otherwise. */
function wantsText(configPath: string): boolean {
  try {
    return loadConfig(readFileSync(configPath, 'utf8'), { file: configPath }).config.store.textIndex;
  } catch {
    return true;
  }
}

function formatText(id: string, { problem, episodes, repaired }: TextReport): string[] {
  if (repaired) {
    const why = problem === null ? '' : `: ${problem}; it was built anew`;
    return [`text index${why}: ${formatAmount(episodes, 'episode')} can be searched`];
  }
  return problem === null
    ? []
    : [`text index: ${problem}; repair it with: ${labCommand('fsck', id, '--repair')}`];
}

function formatReport(id: string, { segments, episodes, indexProblem, rebuilt, text }: FsckReport): string[] {
  const lines = segments.flatMap(({ name, damage }) =>
    damage.map(({ offset, length }) => `${name}: ${formatAmount(length, 'byte')} at byte ${offset} are lost`),
  );
  if (indexProblem !== null) {
    const next = rebuilt ? 'it was built anew' : `repair it with: ${labCommand('fsck', id, '--repair')}`;
    lines.push(`index: ${indexProblem}; ${next}`);
  }
  if (text !== null) lines.push(...formatText(id, text));
  const found = `${formatAmount(episodes, 'whole episode')} in ${formatAmount(segments.length, 'segment')}`;
  return [...lines, `run ${id}: ${found}${lines.length === 0 ? ', nothing wrong' : ''}`];
}
