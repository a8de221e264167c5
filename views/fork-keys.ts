import { type KeyBinding, needsEpisode } from './key-binding.ts';

/** Keys of going on from a step in another way. */
export const FORK_KEYS = {
  fork: {
    keys: ['F'],
    screens: ['replay'],
    label: 'fork',
    description: 'go on from this step in another way, many times, and see how that ends',
    disabled: needsEpisode,
  },
  goOn: {
    keys: ['enter'],
    screens: ['fork'],
    label: 'go on',
    description: 'do it instead, and let the policy go on from there',
  },
  forkPolicy: {
    keys: ['v'],
    screens: ['fork'],
    label: 'policy',
    description: 'choose the version of the policy that goes on, among those that are kept',
  },
  forkCount: {
    keys: ['n'],
    screens: ['fork'],
    label: 'times',
    description: 'type how many times it goes on, each with other random numbers',
  },
  forkSteps: {
    keys: ['s'],
    screens: ['fork'],
    label: 'steps',
    description: 'type after how many steps it is cut short; empty: as in the run',
  },
  leaveFork: {
    keys: ['escape', 'q'],
    screens: ['fork'],
    label: 'back',
    description: 'back to the replay',
  },
} as const satisfies Record<string, KeyBinding>;
