import { join, resolve } from 'node:path';
import { formatBytes } from '../domain/bytes.ts';
import { archiveRun } from '../interop/archive.ts';
import { directoryBytes } from '../store/run-directory.ts';
import { formatAmount } from './format.ts';
import { EXIT, printJson, printLine, printNote, showProgress } from './output.ts';
import { findNewestRun } from './runs.ts';

export interface ArchiveVerbOptions {
  readonly runs: string;
  readonly to?: string;
  readonly json?: boolean;
}

/** Moves the episodes of a run that has ended to Parquet files. Returns the exit code: 1 where a segment is damaged. */
export async function archiveEndedRun(id: string, options: ArchiveVerbOptions): Promise<number> {
  const run = findNewestRun(options.runs, id);
  const to = resolve(options.to ?? join(run.paths.root, 'archive'));
  const before = directoryBytes(run.paths.segments);
  const report = await archiveRun(run.paths, {
    run: run.id,
    to,
    onProgress: (done, total) => showProgress(`${done} of ${formatAmount(total, 'segment')} archived`),
  });
  const after = directoryBytes(run.paths.segments);
  if (options.json === true) {
    printJson({ run: run.id, to, segmentBytesBefore: before, segmentBytesAfter: after, ...report });
  } else if (report.files.length === 0) {
    printLine(`run ${run.id}: nothing to archive`);
  } else {
    const files = formatAmount(report.files.length, 'file');
    printLine(`run ${run.id}: ${formatAmount(report.episodes, 'episode')} moved to ${files} below ${to}`);
    printLine(`  segments: ${formatBytes(before)} to ${formatBytes(after)}`);
  }
  for (const number of report.damaged) {
    printNote(
      `segment ${number} is damaged: what cannot be read stays in it; see: agentrl-lab fsck ${run.id}`,
    );
  }
  return report.damaged.length === 0 ? EXIT.ok : EXIT.failed;
}
