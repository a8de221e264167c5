import { formatEffective } from '../config/effective.ts';
import type { Override } from '../config/overrides.ts';

import { visibleText } from '../domain/visible-text.ts';
import { openRunReader } from '../store/queries.ts';
import { loadConfigFile } from './config-file.ts';
import { printJson, printLine, printNote } from './output.ts';
import { findNewestRun } from './runs.ts';
import { formatEpisode } from './show.ts';

interface InspectOptions {
  readonly runs: string;
  readonly run?: string;
  readonly json?: boolean;
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
