import type { KeyBinding } from './key-binding.ts';

/** Keys of the replay of an episode of several agents. */
export const AGENT_KEYS = {
  turnNext: {
    keys: ['i'],
    screens: ['replay'],
    label: 'same agent',
    description: 'next step of the agent that acts in this one, where an episode has several',
  },
  turnPrevious: {
    keys: ['I'],
    screens: ['replay'],
    label: 'same agent before',
    description: 'previous step of the agent that acts in this one',
  },
} as const satisfies Record<string, KeyBinding>;
