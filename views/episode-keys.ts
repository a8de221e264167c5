import { type KeyBinding, needsEpisode, needsRun } from './key-binding.ts';

/** Keys of the list of episodes, beside those that move, filter and open. */
export const EPISODE_KEYS = {
  sort: {
    keys: ['s'],
    screens: ['episodes'],
    label: 'sort',
    description: 'order by the next column: the sort: of the filter',
    disabled: needsRun,
  },
  reverse: {
    keys: ['S'],
    screens: ['episodes'],
    label: 'turn round',
    description: 'the other order of the same column',
    disabled: needsRun,
  },
  columns: {
    keys: ['C'],
    screens: ['episodes'],
    label: 'columns',
    description: 'choose the columns; as many as fit are shown',
    disabled: needsRun,
  },
  panel: {
    keys: ['p'],
    screens: ['episodes'],
    label: 'panel',
    description: 'show or hide how the episodes are distributed',
    disabled: needsRun,
  },
  pin: {
    keys: ['*'],
    screens: ['overview', 'episodes', 'replay'],
    label: 'pin',
    description: 'pin the episode: its steps are kept whatever the byte budget; or let it go',
    disabled: needsEpisode,
  },
  note: {
    keys: ['N'],
    screens: ['overview', 'episodes', 'replay'],
    label: 'note',
    description: 'write a line about the episode; empty: remove it',
    disabled: needsEpisode,
  },
  select: {
    keys: ['V'],
    screens: ['episodes'],
    label: 'select',
    description: 'take the episode into the selection, or out of it, and go on to the next',
    disabled: needsEpisode,
  },
  bulk: {
    keys: ['B'],
    screens: ['episodes'],
    label: 'bulk',
    description: 'pin, note, do again or export the selected episodes, or else all that match; asks first',
    disabled: needsEpisode,
  },
} as const satisfies Record<string, KeyBinding>;

/** Keys of what lies over a screen and is left again: a menu, a line that is asked for. */
export const OVERLAY_KEYS = {
  choose: {
    keys: ['enter', 'space'],
    screens: ['menu'],
    label: 'choose',
    description: 'choose, or switch on or off',
  },
  leave: {
    keys: ['escape'],
    screens: ['menu', 'prompt'],
    label: 'leave',
    description: 'leave the menu, or the line that is asked for',
  },
  answer: {
    keys: ['enter'],
    screens: ['prompt'],
    label: 'accept',
    description: 'accept the line that was asked for',
  },
} as const satisfies Record<string, KeyBinding>;
