import { formatBytes } from '../domain/bytes.ts';
import { visibleText } from '../domain/visible-text.ts';
import { directoryBytes, listRuns, type RunListing } from '../store/run-directory.ts';
import { type Column, formatTable, formatTime } from './format.ts';
import { labCommand } from './lab-command.ts';
import { printJson, printLine } from './output.ts';
import { runState } from './runs.ts';

/** Lists all runs, newest first; a run that cannot be read is listed with the reason. */
export function printRuns({ runs, json }: { readonly runs: string; readonly json?: boolean }): void {
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
