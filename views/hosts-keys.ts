import { type KeyBinding, needsLiveRun } from './key-binding.ts';

/** Keys of the screen of hosts. */
export const HOST_KEYS = {
  unfold: {
    keys: ['right'],
    screens: ['hosts'],
    label: 'unfold',
    description: 'show the processes of a host, or the slots of a worker',
  },
  fold: {
    keys: ['left'],
    screens: ['hosts'],
    label: 'fold',
    description: 'hide them again, or go to what the row belongs to',
  },
  sortTree: {
    keys: ['s'],
    screens: ['hosts'],
    label: 'sort',
    description:
      'workers and slots by name, memory, CPU, temporary files, open files, wait: the largest first',
  },
  drain: {
    keys: ['d'],
    screens: ['hosts'],
    label: 'drain',
    description:
      'no new episodes for the worker, or all of the host, after asking; those in flight are finished',
    disabled: needsLiveRun,
  },
  undrain: {
    keys: ['u'],
    screens: ['hosts'],
    label: 'undrain',
    description: 'give a drained worker, or all of the host, episodes again',
    disabled: needsLiveRun,
  },
  restart: {
    keys: ['t'],
    screens: ['hosts'],
    label: 'restart',
    description: 'start the worker anew, after asking, when its episodes are finished',
    disabled: needsLiveRun,
  },
  restartNow: {
    keys: ['T'],
    screens: ['hosts'],
    label: 'restart now',
    description: 'start the worker anew at once, after asking: its episodes are done again by others',
    disabled: needsLiveRun,
  },
  addWorker: {
    keys: ['a'],
    screens: ['hosts'],
    label: 'add',
    description: 'another worker on the host, after asking',
    disabled: needsLiveRun,
  },
  removeWorker: {
    keys: ['X'],
    screens: ['hosts'],
    label: 'remove',
    description: 'let the worker finish its episodes and leave the run, after asking',
    disabled: needsLiveRun,
  },
} as const satisfies Record<string, KeyBinding>;
