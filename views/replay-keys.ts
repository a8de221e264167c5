import { AGENT_KEYS } from './agent-keys.ts';
import type { KeyBinding } from './key-binding.ts';

/** Keys of the replay of an episode. */
export const REPLAY_KEYS = {
  notableNext: {
    keys: ['>'],
    screens: ['replay'],
    label: 'next notable',
    description: 'next step that was paid or had no effect',
  },
  notablePrevious: {
    keys: ['<'],
    screens: ['replay'],
    label: 'previous notable',
    description: 'previous step that was paid or had no effect',
  },
  matchNext: {
    keys: [']'],
    screens: ['replay'],
    label: 'next match',
    description: 'next step with the text that was searched',
  },
  matchPrevious: {
    keys: ['['],
    screens: ['replay'],
    label: 'previous match',
    description: 'previous step with the text that was searched',
  },
  nextEpisode: {
    keys: ['n'],
    screens: ['replay'],
    label: 'next episode',
    description: 'next episode of the filtered list (older)',
  },
  previousEpisode: {
    keys: ['p'],
    screens: ['replay'],
    label: 'previous episode',
    description: 'previous episode of the filtered list (newer)',
  },
  rewardNext: {
    keys: ['a'],
    screens: ['replay'],
    label: 'next reward',
    description: 'next step that was paid',
  },
  rewardPrevious: {
    keys: ['A'],
    screens: ['replay'],
    label: 'previous reward',
    description: 'previous step that was paid',
  },
  toolErrorNext: {
    keys: ['t'],
    screens: ['replay'],
    label: 'next tool error',
    description: 'next step in which a tool failed',
  },
  toolErrorPrevious: {
    keys: ['T'],
    screens: ['replay'],
    label: 'previous tool error',
    description: 'previous step in which a tool failed',
  },
  behaviourNext: {
    keys: ['b'],
    screens: ['replay'],
    label: 'next behaviour',
    description: 'next step that is part of a behaviour of the episode, as a loop',
  },
  behaviourPrevious: {
    keys: ['B'],
    screens: ['replay'],
    label: 'previous behaviour',
    description: 'previous step that is part of a behaviour',
  },
  failureStep: {
    keys: ['f'],
    screens: ['replay'],
    label: 'failure',
    description: 'the end of an episode that failed, and why',
  },
  ...AGENT_KEYS,
  play: {
    keys: ['.', 'enter'],
    screens: ['replay'],
    label: 'play',
    description: 'play the steps, 1 a second; again: 2, 4, 8; any other key stops',
  },
} as const satisfies Record<string, KeyBinding>;
