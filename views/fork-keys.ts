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
  nextChoice: {
    keys: ['j', 'down'],
    screens: ['fork'],
    label: 'down',
    description: 'next of what might be done instead',
  },
  previousChoice: {
    keys: ['k', 'up'],
    screens: ['fork'],
    label: 'up',
    description: 'the one before',
  },
  goOn: {
    keys: ['enter'],
    screens: ['fork'],
    label: 'go on',
    description: 'do it instead, and let the policy go on from there',
  },
  leaveFork: {
    keys: ['escape', 'q'],
    screens: ['fork'],
    label: 'back',
    description: 'back to the replay',
  },
} as const satisfies Record<string, KeyBinding>;
