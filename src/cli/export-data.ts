import { extname } from 'node:path';
import { LabError } from '../domain/error.ts';
import { type ByteOutput, FileOutput } from '../interop/byte-output.ts';
import {
  EPISODE_FORMATS,
  type EpisodeExportReport,
  type EpisodeFormat,
  exportEpisodes,
  exportMetrics,
  TABLE_FORMATS,
  type TableFormat,
} from '../interop/export-episodes.ts';
import { type Filter, parseFilter } from '../store/filter.ts';
import { openRunReader } from '../store/queries.ts';
import { formatAmount, formatCount } from './format.ts';
import { EXIT, printJson, printLine, printNote, showProgress } from './output.ts';
import { findNewestRun } from './runs.ts';
import { StdoutOutput } from './stdout-output.ts';

export interface ExportDataOptions {
  readonly runs: string;
  /** A file, or `-`. */
  readonly to: string;
  readonly format?: string;
  readonly steps?: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** What ends with `.parquet`, `.jsonl`, `.csv`, `.atif.jsonl` or `.atif.json` needs no `--format`. */
const ENDINGS: readonly (readonly [ending: string, format: EpisodeFormat])[] = [
  ['.atif.jsonl', 'atif'],
  ['.atif.json', 'atif'],
  ['.parquet', 'parquet'],
  ['.jsonl', 'jsonl'],
  ['.ndjson', 'jsonl'],
  ['.csv', 'csv'],
];

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

/** Writes the episodes of a run that a filter matches; oldest first unless it says otherwise. Returns the exit code. */
export async function exportEpisodesTo(
  id: string,
  filterWords: readonly string[],
  options: ExportDataOptions,
): Promise<number> {
  const filter = oldestFirst(filterWords.join(' '));
  const format = formatOf(options, EPISODE_FORMATS);
  const run = findNewestRun(options.runs, id);
  const reader = openRunReader(run.paths);
  try {
    refuseManyInOne(options.to, format, reader.countEpisodes(filter));
    const report = await writing(options, async (output) => {
      const steps = options.steps === true;
      return await exportEpisodes(reader, {
        run: run.id,
        filter,
        format,
        steps,
        output,
        onProgress: showDone,
      });
    });
    tell(run.id, report, options);
    return report.damaged === 0 ? EXIT.ok : EXIT.failed;
  } finally {
    reader.close();
  }
}

/** Writes the metrics of a run, a row an iteration. */
export async function exportMetricsTo(id: string, options: ExportDataOptions): Promise<void> {
  const format = formatOf(options, TABLE_FORMATS);
  const run = findNewestRun(options.runs, id);
  const reader = openRunReader(run.paths);
  try {
    const rows = await writing(options, async (output) => {
      const written = exportMetrics(reader, { run: run.id, format, output });
      await output.drained();
      return written;
    });
    if (options.json === true && options.to !== '-') printJson({ run: run.id, file: options.to, rows });
    else if (options.to !== '-') {
      printLine(`wrote the metrics of ${formatAmount(rows, 'iteration')} of run ${run.id} to ${options.to}`);
    }
  } finally {
    reader.close();
  }
}

/** The whole file, or nothing of it: also when the command is ended in the middle. */
async function writing<Result>(
  { to, force }: ExportDataOptions,
  write: (output: ByteOutput) => Promise<Result>,
): Promise<Result> {
  const output = to === '-' ? new StdoutOutput() : new FileOutput(to, { replace: force === true });
  const giveUp = (signal: keyof typeof SIGNALS): void => {
    output.abandon();
    process.exit(SIGNALS[signal]);
  };
  process.once('SIGINT', giveUp);
  process.once('SIGTERM', giveUp);
  try {
    const result = await write(output);
    await output.finish();
    return result;
  } finally {
    output.abandon();
    process.off('SIGINT', giveUp);
    process.off('SIGTERM', giveUp);
  }
}

function formatOf<Format extends EpisodeFormat | TableFormat>(
  { to, format }: ExportDataOptions,
  known: readonly Format[],
): Format {
  const asked = format ?? ENDINGS.find(([ending]) => to.endsWith(ending))?.[1] ?? (to === '-' ? 'jsonl' : '');
  const found = known.find((one) => one === asked);
  if (found === undefined) {
    const what =
      format === undefined ? `${extname(to) || to} tells no format` : `"${format}" is not a format`;
    throw new LabError('usage', {
      message: `${what} that this can be written in: wanted ${known.join(', ')}`,
      hint: `name a file that ends so, or say --format ${known[0] ?? ''}`,
    });
  }
  if (found === 'parquet' && to === '-') {
    throw new LabError('usage', {
      message: 'Parquet is read from its end and cannot be piped',
      hint: 'name a file with --to, or take --format jsonl or csv',
    });
  }
  return found;
}

/** ATIF is one document: a file that ends in `.json` holds one. */
function refuseManyInOne(to: string, format: EpisodeFormat, episodes: number): void {
  if (format !== 'atif' || !to.endsWith('.json') || episodes === 1) return;
  throw new LabError('usage', {
    message: `${formatAmount(episodes, 'episode')} match, and a .json file holds one ATIF document`,
    hint: 'name a file that ends in .atif.jsonl, one document a line, or one episode, as in id:120',
  });
}

function showDone(done: number, total: number): void {
  showProgress(`${formatCount(done)} of ${formatAmount(total, 'episode')} written`);
}

function oldestFirst(text: string): Filter {
  const filter = parseFilter(text);
  return /(?:^|[\s(])sort[:=]/iu.test(text)
    ? filter
    : { ...filter, sort: { field: 'id', descending: false } };
}

function tell(run: string, report: EpisodeExportReport, { to, json }: ExportDataOptions): void {
  const { episodes, rows, dropped, damaged } = report;
  const toStdout = to === '-';
  if (json === true && !toStdout) printJson({ run, file: to, ...report });
  else if (!toStdout) {
    const inRows = rows === episodes ? '' : `, ${formatAmount(rows, 'row')},`;
    printLine(`wrote ${formatAmount(episodes, 'episode')}${inRows} of run ${run} to ${to}`);
  }
  if (dropped > 0) printNote(`${formatAmount(dropped, 'episode')} left out: their steps were dropped`);
  if (damaged > 0) {
    printNote(`${formatAmount(damaged, 'episode')} left out: damaged; see: agentrl-lab fsck ${run}`);
  }
}
