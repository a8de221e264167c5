import { keysOf } from '../src/domain/table.ts';
import { CHART_KEYS, KNOB_KEYS } from './bench-keys.ts';
import { EPISODE_KEYS, OVERLAY_KEYS } from './episode-keys.ts';
import { FORK_KEYS } from './fork-keys.ts';
import { HOST_KEYS } from './hosts-keys.ts';
import {
  type KeyBinding,
  type KeyContext,
  needsEpisode,
  needsLiveRun,
  needsRun,
  type Screen,
} from './key-binding.ts';
import type { KeyName } from './keys.ts';
import { REPLAY_KEYS } from './replay-keys.ts';
import { RUN_KEYS } from './run-keys.ts';

const LISTS: readonly Screen[] = [
  'overview',
  'episodes',
  'hosts',
  'pipeline',
  'events',
  'diff',
  'runs',
  'compare',
  'replay',
  'help',
  'menu',
  'fork',
];
/** The screens under everything else. */
const OVERLAYS: ReadonlySet<Screen> = new Set(['help', 'menu', 'fork']);
const MAIN: readonly Screen[] = LISTS.filter((screen) => !OVERLAYS.has(screen));
/** Where the run can be paused. */
const PAUSING: readonly Screen[] = MAIN.filter(
  (screen) => screen !== 'runs' && screen !== 'diff' && screen !== 'compare',
);

function needsCompletion({ completes }: KeyContext): string | null {
  return completes ? null : 'nothing can be suggested here';
}

/** The one table of keys: footer, help, docs/UI.md and the handling of keys all derive from it. */
export const KEYMAP = {
  pause: {
    keys: ['space'],
    screens: PAUSING,
    label: 'pause/resume',
    description: 'pause (episodes in flight are finished first), or resume',
    disabled: needsLiveRun,
  },
  pauseNow: {
    keys: ['P'],
    screens: PAUSING,
    label: 'pause now',
    description: 'pause at once: every environment stays where it is',
    disabled: needsLiveRun,
  },
  quiesce: {
    keys: ['Q'],
    screens: PAUSING,
    label: 'quiesce',
    description: 'pause with nothing in flight and all of it in a checkpoint: safe to move or upgrade',
    disabled: needsLiveRun,
  },
  ...KNOB_KEYS,
  filter: {
    keys: ['/'],
    screens: ['overview', 'episodes', 'events', 'replay'],
    label: 'filter',
    description: 'filter the episodes, or the events by words in them (empty: all); search in a replay',
    disabled: needsRun,
  },
  failure: {
    keys: ['f'],
    screens: ['overview', 'episodes'],
    label: 'failure type',
    description: 'show only the most frequent failure type, then the next, then all again',
    disabled: needsRun,
  },
  eventEpisodes: {
    keys: ['o'],
    screens: ['overview', 'episodes'],
    label: 'event episodes',
    description: 'show the episodes that the newest event names; again: of the one before',
    disabled: (context) =>
      needsRun(context) ?? (context.eventEpisodes ? null : 'no event has named episodes yet'),
  },
  down: {
    keys: ['j', 'down'],
    screens: LISTS,
    label: 'down',
    description: 'next row; in a replay, next step',
  },
  up: {
    keys: ['k', 'up'],
    screens: LISTS,
    label: 'up',
    description: 'previous row; in a replay, previous step',
  },
  pageDown: {
    keys: ['pgdn', 'J', 'ctrl-d'],
    screens: LISTS,
    label: 'page down',
    description: 'a page further; in a replay, scroll the step',
  },
  pageUp: {
    keys: ['pgup', 'K', 'ctrl-u'],
    screens: LISTS,
    label: 'page up',
    description: 'a page back; in a replay, scroll the step back',
  },
  first: {
    keys: ['g', 'home'],
    screens: LISTS,
    label: 'first',
    description: 'first row; in the episode list, follow new episodes',
  },
  last: { keys: ['G', 'end'], screens: LISTS, label: 'last', description: 'last row, or last step' },
  open: {
    keys: ['enter'],
    screens: ['overview', 'episodes', 'hosts', 'events', 'runs'],
    label: 'open',
    description: 'replay the episode; go to what the event is about; unfold; open or start the run',
    disabled: ({ rows, isSearching }) => (rows === 0 && !isSearching ? 'there is nothing to open yet' : null),
  },
  ...REPLAY_KEYS,
  ...EPISODE_KEYS,
  ...OVERLAY_KEYS,
  ...RUN_KEYS,
  ...CHART_KEYS,
  ...HOST_KEYS,
  mark: {
    keys: ['m'],
    screens: ['overview', 'episodes', 'replay'],
    label: 'mark',
    description: 'mark the episode: d on another one compares the two',
    disabled: needsEpisode,
  },
  diff: {
    keys: ['d'],
    screens: ['overview', 'episodes', 'replay'],
    label: 'diff',
    description: 'compare the episode with the marked one, or else with the try of the same task before it',
    disabled: needsEpisode,
  },
  reexecute: {
    keys: ['x'],
    screens: ['overview', 'episodes', 'replay'],
    label: 'do again',
    description: 'do the episode again with its recorded actions, and compare',
    disabled: needsEpisode,
  },
  reexecutePolicy: {
    keys: ['X'],
    screens: ['overview', 'episodes', 'replay'],
    label: 'act again',
    description: 'do the episode again by the policy of that time, and compare',
    disabled: needsEpisode,
  },
  ...FORK_KEYS,
  showReplay: {
    keys: ['4'],
    screens: MAIN,
    label: 'last replay',
    description: 'the episode that was replayed last, where it was left',
    disabled: (context) => (context.hasReplay ? null : 'no episode was opened yet: Enter on one'),
  },
  showDiff: {
    keys: ['5'],
    screens: MAIN,
    label: 'last diff',
    description: 'the comparison that was shown last',
    disabled: (context) => (context.hasDiff ? null : 'nothing has been compared yet: d or x on an episode'),
  },
  layout: {
    keys: ['v'],
    screens: ['diff'],
    label: 'layout',
    description: 'side by side, or in one column',
  },
  nextDifference: {
    keys: ['n'],
    screens: ['diff'],
    label: 'next difference',
    description: 'next row that differs',
  },
  previousDifference: {
    keys: ['p'],
    screens: ['diff'],
    label: 'previous difference',
    description: 'previous row that differs',
  },
  back: {
    keys: ['escape', 'q'],
    screens: ['episodes', 'hosts', 'pipeline', 'events', 'diff', 'compare', 'replay', 'help', 'confirm'],
    label: 'back',
    description: 'back to where you came from; with a filter on the events or episodes, clear it first',
  },
  clear: {
    keys: ['escape'],
    screens: ['overview'],
    label: 'clear filter',
    description: 'clear the filter and the failure type',
  },
  runs: {
    keys: ['1', 'r'],
    screens: MAIN,
    label: 'runs',
    description: 'the list of runs, and back',
  },
  bench: {
    keys: ['2'],
    screens: MAIN,
    label: 'bench',
    description: 'the bench: charts, knobs and the newest episodes of the open run',
    disabled: needsRun,
  },
  episodes: {
    keys: ['3'],
    screens: MAIN,
    label: 'episodes',
    description: 'the episodes over the whole screen, and on a wide one how they are distributed; and back',
    disabled: needsRun,
  },
  hosts: {
    keys: ['6'],
    screens: MAIN,
    label: 'hosts',
    description:
      'hosts, their processes and slots, with what each uses; drain, restart, add workers; and back',
    disabled: needsRun,
  },
  pipeline: {
    keys: ['7', 'w'],
    screens: MAIN,
    label: 'who waits',
    description: 'the pipeline: who waits for whom, back-pressure, waste, processes; and back',
    disabled: needsRun,
  },
  events: {
    keys: ['8', 'e'],
    screens: MAIN,
    label: 'events',
    description: 'every event and turned knob; and back',
    disabled: needsRun,
  },
  palette: {
    keys: [':'],
    screens: MAIN,
    label: 'commands',
    description: 'find a command of this screen by its name',
  },
  theme: {
    keys: ['ctrl-t'],
    screens: MAIN,
    label: 'colours',
    description: "colours for a dark background, for a light one, or the terminal's own sixteen",
  },
  help: {
    keys: ['?'],
    screens: MAIN,
    label: 'help',
    description: 'the keys that work on this screen',
  },
  stop: {
    keys: ['S'],
    screens: ['overview'],
    label: 'stop run',
    description: 'stop the run, after asking: it writes a checkpoint and ends',
    disabled: needsLiveRun,
  },
  quit: {
    keys: ['q'],
    screens: ['overview', 'runs'],
    label: 'quit',
    description: 'close this screen; the run goes on without it',
  },
  nextCommand: {
    keys: ['down', 'tab'],
    screens: ['palette'],
    label: 'next',
    description: 'next command',
  },
  previousCommand: {
    keys: ['up', 'shift-tab'],
    screens: ['palette'],
    label: 'previous',
    description: 'previous command',
  },
  nextSuggestion: {
    keys: ['tab'],
    screens: ['filter'],
    label: 'suggest',
    description: 'show what may follow in the filter, and how many episodes that matches; then take the next',
    disabled: needsCompletion,
  },
  previousSuggestion: {
    keys: ['shift-tab'],
    screens: ['filter'],
    label: 'suggestion before',
    description: 'take the suggestion before',
    disabled: needsCompletion,
  },
  accept: {
    keys: ['enter'],
    screens: ['confirm', 'filter', 'palette'],
    label: 'accept',
    description: 'accept',
  },
  focus: {
    keys: ['tab', 'shift-tab', 'left', 'right', 'h', 'l'],
    screens: ['confirm'],
    label: 'choose',
    description: 'move between the answers',
  },
  agree: {
    keys: ['y'],
    screens: ['confirm'],
    label: 'yes',
    description: 'do what is asked about',
  },
  refuse: {
    keys: ['n'],
    screens: ['confirm'],
    label: 'no',
    description: 'leave it, as Esc does',
  },
  cancel: {
    keys: ['escape'],
    screens: ['filter', 'palette'],
    label: 'clear',
    description: 'leave the line and clear the filter or search; leave the palette',
  },
} as const satisfies Record<string, KeyBinding>;

export type ActionName = keyof typeof KEYMAP;
export const ACTION_NAMES = keysOf(KEYMAP);

/** What a key means on a screen, or null. */
export function actionOf(screen: Screen, key: KeyName): ActionName | null {
  const found = ACTION_NAMES.find(
    (name) => bindingOf(name).screens.includes(screen) && bindingOf(name).keys.includes(key),
  );
  return found ?? (screen === 'knob' ? actionOf('overview', key) : null);
}

/** The table's row of an action. */
export function bindingOf(name: ActionName): KeyBinding {
  return KEYMAP[name];
}

/** Why an action does nothing just now, or null when it works. */
export function disabledReason(name: ActionName, context: KeyContext): string | null {
  return bindingOf(name).disabled?.(context) ?? null;
}

const KEY_TEXT: Readonly<Record<KeyName, string>> = {
  space: 'Space',
  enter: 'Enter',
  escape: 'Esc',
  tab: 'Tab',
  'shift-tab': 'Shift-Tab',
  up: 'Up',
  down: 'Down',
  left: 'Left',
  right: 'Right',
  pgup: 'PgUp',
  pgdn: 'PgDn',
  home: 'Home',
  end: 'End',
  'ctrl-t': 'Ctrl-T',
  'ctrl-d': 'Ctrl-D',
  'ctrl-u': 'Ctrl-U',
};

/** How a key is written on the screen. */
export function keyText(key: KeyName): string {
  return KEY_TEXT[key] ?? key;
}
