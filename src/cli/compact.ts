import { readFileSync } from 'node:fs';
import { setImmediate as breathe } from 'node:timers/promises';
import { loadConfig } from '../config/load.ts';
import { formatBytes } from '../domain/bytes.ts';
import type { CompactionReport } from '../store/compact.ts';
import { compactRun } from '../store/ended-run.ts';
import { readPins } from '../store/pins.ts';
import { KEEP_REASONS } from '../store/retention.ts';
import { directoryBytes } from '../store/run-directory.ts';
import { formatAmount, formatCount } from './format.ts';
import { printJson, printLine, showProgress } from './output.ts';
import { findNewestRun } from './runs.ts';

export interface CompactOptions {
  readonly runs: string;
  readonly json?: boolean;
}

const REASON_WORDS = {
  pinned: 'pinned',
  heldOut: 'held-out',
  failed: 'failed',
  edge: 'edge',
  sample: 'sample',
} as const;

/** Drops the steps that no tier keeps from every segment of a run that has ended. Throws `run-locked` for a live one. */
export async function compactEndedRun(id: string, options: CompactOptions): Promise<void> {
  const run = findNewestRun(options.runs, id);
  const { config } = loadConfig(readFileSync(run.paths.config, 'utf8'), { file: run.paths.config });
  const before = directoryBytes(run.paths.root);
  const reports = await compactRun(run.paths, {
    keepSample: config.store.keepSample,
    pinned: () => readPins(run.paths),
    breathe: async () => {
      showProgress(`compacting run ${run.id}`);
      await breathe();
      return true;
    },
  });
  const after = directoryBytes(run.paths.root);
  if (options.json === true)
    printJson({ run: run.id, bytesBefore: before, bytesAfter: after, segments: reports });
  else printLine(describe(run.id, reports, { before, after }));
}

function describe(
  id: string,
  reports: readonly CompactionReport[],
  bytes: { before: number; after: number },
): string {
  if (reports.length === 0) return `run ${id}: nothing to drop`;
  const sum = (pick: (report: CompactionReport) => number): number =>
    reports.reduce((total, report) => total + pick(report), 0);
  const reasons = KEEP_REASONS.map((reason) => {
    return `${REASON_WORDS[reason]} ${formatCount(sum(({ reasons: counts }) => counts[reason]))}`;
  });
  const segments = formatAmount(reports.length, 'segment');
  const dropped = formatAmount(
    sum((report) => report.dropped),
    'episode',
  );
  return [
    `run ${id}: ${formatBytes(bytes.before)} to ${formatBytes(bytes.after)}, ${segments} compacted`,
    `  the steps of ${dropped} were dropped; kept were ${reasons.join(', ')}`,
  ].join('\n');
}
