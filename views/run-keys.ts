import type { KeyBinding, KeyContext } from './key-binding.ts';

function needsRuns(context: KeyContext): string | null {
  return context.rows > 1 ? null : 'there is no run yet';
}

/** Keys of the list of runs, and of their comparison. */
export const RUN_KEYS = {
  newRun: {
    keys: ['n'],
    screens: ['runs'],
    label: 'new run',
    description: 'start a run from a config file, with changes to it (empty: the demo)',
  },
  branchRun: {
    keys: ['b'],
    screens: ['runs'],
    label: 'branch',
    description: 'start a run from a checkpoint of the run, with changes to its config',
    disabled: needsRuns,
  },
  resumeRun: {
    keys: ['R'],
    screens: ['runs'],
    label: 'resume',
    description: 'start a run that has ended or died again from its last checkpoint, after asking',
    disabled: needsRuns,
  },
  markRun: {
    keys: ['m'],
    screens: ['runs'],
    label: 'mark',
    description: 'mark the run to be compared, or take the mark away',
    disabled: needsRuns,
  },
  compareRuns: {
    keys: ['c'],
    screens: ['runs'],
    label: 'compare',
    description: 'compare the marked runs: their curves, and what differs in their configs',
    disabled: needsRuns,
  },
  archiveRun: {
    keys: ['A'],
    screens: ['runs'],
    label: 'archive',
    description: 'move the episodes of a run that has ended to Parquet files, after asking',
    disabled: needsRuns,
  },
} as const satisfies Record<string, KeyBinding>;
