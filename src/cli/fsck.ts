import { checkRun, type FsckReport } from '../store/fsck.ts';
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
  const report = checkRun(run.paths, { repair: options.repair === true });
  if (options.json === true) printJson({ run: run.id, ...report });
  else for (const line of formatReport(run.id, report)) printLine(line);
  const isSound = report.indexProblem === null || report.rebuilt;
  return isSound && report.segments.every(({ damage }) => damage.length === 0) ? EXIT.ok : EXIT.failed;
}

function formatReport(id: string, { segments, episodes, indexProblem, rebuilt }: FsckReport): string[] {
  const lines = segments.flatMap(({ name, damage }) =>
    damage.map(({ offset, length }) => `${name}: ${formatAmount(length, 'byte')} at byte ${offset} are lost`),
  );
  if (indexProblem !== null) {
    const next = rebuilt ? 'it was built anew' : `repair it with: ${labCommand('fsck', id, '--repair')}`;
    lines.push(`index: ${indexProblem}; ${next}`);
  }
  const found = `${formatAmount(episodes, 'whole episode')} in ${formatAmount(segments.length, 'segment')}`;
  return [...lines, `run ${id}: ${found}${lines.length === 0 ? ', nothing wrong' : ''}`];
}
