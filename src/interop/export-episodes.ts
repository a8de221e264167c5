import type { EpisodeBody, EpisodeSummary } from '../domain/episode.ts';
import { LabError } from '../domain/error.ts';
import type { Filter } from '../store/filter.ts';
import { allOf, type FilterNode } from '../store/filter-tree.ts';
import type { RunReader } from '../store/queries.ts';
import { toAtif } from './atif.ts';
import type { ByteOutput } from './byte-output.ts';
import { episodeColumns, metricColumns, stepColumns } from './episode-tables.ts';
import { parquetTable } from './parquet-table.ts';
import type { TableColumn, TableWriter } from './table.ts';
import { csvTable, jsonLines, jsonLinesTable } from './text-tables.ts';

/** Formats of tables. */
export const TABLE_FORMATS = ['parquet', 'jsonl', 'csv'] as const;
export type TableFormat = (typeof TABLE_FORMATS)[number];
/** What episodes can be written as; `atif` is one document a line. */
export const EPISODE_FORMATS = [...TABLE_FORMATS, 'atif'] as const;
export type EpisodeFormat = (typeof EPISODE_FORMATS)[number];

export interface EpisodeExport {
  /** Written into each row. */
  readonly run: string;
  readonly filter: Filter;
  readonly format: EpisodeFormat;
  /** A row a step, instead of a row an episode; ATIF has all steps anyway. */
  readonly steps: boolean;
  readonly output: ByteOutput;
  /** Called every now and then with how many episodes are done, of how many. */
  readonly onProgress: (done: number, total: number) => void;
}

/** What became of the episodes. */
export interface EpisodeExportReport {
  readonly episodes: number;
  readonly rows: number;
  /** Left out, as rows of steps or documents are wanted and their steps were dropped, or cannot be read. */
  readonly dropped: number;
  readonly damaged: number;
}

const PAGE = 500;

type Tally = { -readonly [Name in keyof EpisodeExportReport]: number };

/**
 * Writes the episodes that a filter matches, page by page: memory does not grow with their number. What a live run adds
 * meanwhile is left out. Does not finish or abandon the output. Throws what the output throws, and `store-failed`.
 */
export async function exportEpisodes(
  reader: RunReader,
  options: EpisodeExport,
): Promise<EpisodeExportReport> {
  const { output, onProgress } = options;
  const filter = { ...options.filter, where: upToNewest(reader, options.filter.where) };
  const total = reader.countEpisodes(filter);
  const tally: Tally = { episodes: 0, rows: 0, dropped: 0, damaged: 0 };
  const sink = openSink(reader, options, tally);
  let after: string | null = null;
  do {
    const page = reader.episodes(filter, { limit: PAGE, after });
    for (const summary of page.episodes) sink.write(summary);
    after = page.next;
    onProgress(tally.episodes + tally.dropped + tally.damaged, total);
    await output.drained();
  } while (after !== null);
  sink.close();
  await output.drained();
  return tally;
}

function openSink(
  reader: RunReader,
  { run, format, steps, output }: EpisodeExport,
  tally: Tally,
): TableWriter<EpisodeSummary> {
  if (format === 'atif') {
    return writingRows(jsonLines(output), tally, (summary) => {
      const body = readBody(reader, summary.id, tally);
      return body === null ? null : [toAtif(run, { summary, body })];
    });
  }
  if (!steps) {
    return writingRows(tableWriter(format, episodeColumns(run), output), tally, (summary) => [summary]);
  }
  return writingRows(tableWriter(format, stepColumns(run), output), tally, (summary) => {
    const body = readBody(reader, summary.id, tally);
    return body === null
      ? null
      : body.steps.map((step, index) => ({ summary, body, step, number: index + 1 }));
  });
}

/** Writes the rows of each episode; null where it has none to give. */
function writingRows<Row>(
  table: TableWriter<Row>,
  tally: Tally,
  rowsOf: (summary: EpisodeSummary) => readonly Row[] | null,
): TableWriter<EpisodeSummary> {
  return {
    write: (summary) => {
      const rows = rowsOf(summary);
      if (rows === null) return;
      for (const row of rows) table.write(row);
      tally.rows += rows.length;
      tally.episodes += 1;
    },
    close: () => table.close(),
  };
}

/** Writes the metrics of every iteration that counts; returns how many. Does not finish the output. */
export function exportMetrics(
  reader: RunReader,
  {
    run,
    format,
    output,
  }: { readonly run: string; readonly format: TableFormat; readonly output: ByteOutput },
): number {
  const rows = reader.iterations();
  const table = tableWriter(format, metricColumns(run), output);
  for (const row of rows) table.write(row);
  table.close();
  return rows.length;
}

function tableWriter<Row>(
  format: TableFormat,
  columns: readonly TableColumn<Row>[],
  output: ByteOutput,
): TableWriter<Row> {
  switch (format) {
    case 'parquet':
      return parquetTable(columns, output);
    case 'jsonl':
      return jsonLinesTable(columns, output);
    case 'csv':
      return csvTable(columns, output);
  }
}

/** The same condition, among the episodes that are stored by now. */
function upToNewest(reader: RunReader, where: FilterNode): FilterNode {
  const newest = reader.episodes({ where: allOf([]), sort: { field: 'id', descending: true } }, { limit: 1 });
  const value = Number(newest.episodes[0]?.id.slice(1) ?? 0);
  return allOf([where, { kind: 'compare', field: 'id', comparison: '<=', value }]);
}

/** Null, and counted, where there is none any more. */
function readBody(reader: RunReader, id: string, tally: Tally): EpisodeBody | null {
  try {
    return reader.episode(id).body;
  } catch (thrown) {
    const code = thrown instanceof LabError ? thrown.code : null;
    if (code === 'episode-dropped') tally.dropped += 1;
    else if (code === 'segment-corrupt') tally.damaged += 1;
    else throw thrown;
    return null;
  }
}
