import { formatEffective } from '../config/effective.ts';
import type { Override } from '../config/overrides.ts';

import { formatBytes } from '../domain/bytes.ts';
import { visibleText } from '../domain/visible-text.ts';
import { openRunReader } from '../store/queries.ts';
import { directoryBytes, listRuns, type RunListing } from '../store/run-directory.ts';
import { loadConfigFile } from './config-file.ts';
import { type Column, formatTable, formatTime } from './format.ts';
import { labCommand } from './lab-command.ts';
import { printJson, printLine, printNote } from './output.ts';
import { findNewestRun, runState } from './runs.ts';
import { formatEpisode } from './show.ts';

interface InspectOptions {
  readonly runs: string;
  readonly run?: string;
  readonly json?: boolean;
}

/** Lists all runs, newest first; a run that cannot be read is listed with the reason. */
export function printRuns({ runs, json }: Pick<InspectOptions, 'runs' | 'json'>): void {
  const listings = listRuns(runs);
  if (json === true) {
    printJson(listings.map(({ id, manifest, error, live }) => ({ id, live, error, manifest })));
  } else if (listings.length === 0) {
    printLine(`no runs in ${runs}; start one with: ${labCommand('run')}`);
  } else {
    for (const line of formatTable(RUN_COLUMNS, listings)) printLine(line);
  }
}

const RUN_COLUMNS: readonly Column<RunListing>[] = [
  { title: 'RUN', align: 'left', cell: ({ id }) => id },
  { title: 'STATE', align: 'left', cell: (run) => listedState(run) },
  {
    title: 'STARTED',
    align: 'left',
    cell: ({ manifest }) => (manifest === null ? '' : formatTime(manifest.createdAt)),
  },
  { title: 'ATTEMPTS', align: 'right', cell: ({ manifest }) => String(manifest?.attempt ?? '') },
  { title: 'SIZE', align: 'right', cell: ({ paths }) => formatBytes(directoryBytes(paths.root)) },
  { title: 'SEED', align: 'right', cell: ({ manifest }) => String(manifest?.seed ?? '') },
  {
    title: 'PARENT',
    align: 'left',
    cell: ({ manifest }) =>
      manifest?.parent === null || manifest === null
        ? ''
        : `${manifest.parent.run}@${manifest.parent.iteration}`,
  },
  {
    title: 'NOTE',
    align: 'left',
    cell: ({ manifest, error }) => visibleText(manifest?.reason ?? error ?? ''),
  },
];

function listedState({ manifest, live }: RunListing): string {
  return manifest === null ? 'unreadable' : runState({ manifest, live });
}

/** Prints one episode step by step. `id` may leave out the `e`. */
export function printEpisode(id: string, options: InspectOptions): void {
  const run = findNewestRun(options.runs, options.run);
  const reader = openRunReader(run.paths);
  try {
    const episode = reader.episode(/^\d+$/u.test(id) ? `e${id}` : id);
    if (options.json === true) printJson({ run: run.id, ...episode });
    else for (const line of formatEpisode(episode)) printLine(line);
    const { family } = episode.summary.task;
    const leak = reader.eventsOfKind('reset-leak').find(({ subject }) => subject === family);
    if (leak !== undefined) printNote(visibleText(leak.message.split('\n')[0] ?? ''));
  } finally {
    reader.close();
  }
}

/** Prints the whole config that a file and overrides amount to, with the origin of each value. */
export function printConfig(
  file: string | null,
  options: { readonly overrides: readonly Override[]; readonly json?: boolean },
): void {
  const { config, origins } = loadConfigFile(file, options.overrides);
  if (options.json === true) printJson({ config, origins: Object.fromEntries(origins) });
  else printLine(formatEffective(config, origins).trimEnd());
}
