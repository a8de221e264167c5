import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keysOf } from '../../src/domain/table.ts';
import type { Screen } from '../../views/key-binding.ts';
import { ACTION_NAMES, type ActionName, bindingOf } from '../../views/keymap.ts';
import type { KeyName } from '../../views/keys.ts';
import { Lab } from './lab.ts';
import type { AppTerminal } from './terminal.ts';

/**
 * Every key that the help of a screen lists is pressed on it, in the built program on a terminal: it must change the screen, or
 * the screen must say why it does nothing, and no frame may be torn. What a key does is told by other tests; here none is dead.
 */

const SIZE = { columns: 120, rows: 40 };

interface Way {
  /** Keys in a replay after which there is something for it to show. */
  readonly once?: readonly KeyName[];
  /** It is reached from a replay, and not from the overview. */
  readonly inReplay?: boolean;
  /** The keys that lead to the screen from there. */
  readonly keys: readonly KeyName[];
  /** What is on it, and on no other. */
  readonly shows: RegExp;
  /** Keys before each, so that the pointer has something on both sides. */
  readonly prepare?: readonly KeyName[];
}

/** Shows episodes of several steps, whatever the line held. */
const LONG: readonly KeyName[] = ['/', 'ctrl-u', ...Array.from('steps>5'), 'enter'];

const WAYS = {
  overview: { keys: [], shows: /\[ \] clip/u, prepare: ['g', 'j', 'j'] },
  // The panel beside the list can be hidden: by what is not there.
  episodes: {
    keys: ['3'],
    shows: /^(?![\s\S]*\[ \] clip)[\s\S]*\nepisodes [\d,]+/u,
    prepare: ['g', 'j', 'j'],
  },
  hosts: { keys: ['6'], shows: /local .*\n(.*\n)*.*worker 0/u, prepare: ['g', 'j'] },
  pipeline: { keys: ['7'], shows: /back-pressure/u },
  events: { keys: ['8'], shows: /Enter goes to/u, prepare: ['g', 'j', 'j'] },
  replay: { keys: [...LONG, 'enter'], shows: /probability/u, prepare: ['g', 'j', 'j'] },
  diff: { once: ['x'], keys: ['5'], shows: /identical/u, prepare: ['g', 'j'] },
  runs: { keys: ['1'], shows: /start the demo run/u },
  help: { keys: ['?'], shows: /keys: overview/u, prepare: ['j'] },
  palette: { keys: [':'], shows: /Enter accept/u, prepare: ['down'] },
  filter: { keys: ['/', 'f', 'a'], shows: /fa_?$/mu },
  confirm: { keys: ['S'], shows: /\[ cancel \]/iu },
  prompt: { keys: ['g', 'j', 'N'], shows: /note on e\d+/u },
  menu: { keys: ['3', 'C'], shows: /Enter choose/u, prepare: ['g', 'j'] },
  fork: { inReplay: true, keys: ['F'], shows: /^fork e\d+/mu, prepare: ['j'] },
} satisfies Partial<Record<Screen, Way>>;

/** Keys that may leave a screen as it is where they are pressed here, and why. */
const STILL: Readonly<Partial<Record<ActionName, string>>> = {
  pause: 'the run goes on, and all figures with it: watching.test.ts',
  quit: 'the program ends: leaving.test.ts',
  agree: 'the run stops: leaving.test.ts',
  clear: 'nothing is filtered',
  bench: 'it is this screen',
  showReplay: 'it is this screen',
  showDiff: 'it is this screen',
  resetCharts: 'the charts are as they were at first',
  zoomOut: 'the charts show all there is',
  pageDown: 'all of it is on the screen',
  pageUp: 'all of it is on the screen',
  down: 'all of it is on the screen',
  up: 'all of it is on the screen',
  first: 'the pointer is there, or all of it is on the screen',
  last: 'all of it is on the screen',
};

/** The screens on which keys of STILL may leave everything as it is; on the others they must do something. */
const STILL_ON: Readonly<Partial<Record<ActionName, readonly Screen[]>>> = {
  bench: ['overview'],
  showReplay: ['replay'],
  showDiff: ['diff'],
  pageDown: ['pipeline', 'replay', 'runs', 'hosts'],
  pageUp: ['pipeline', 'replay', 'runs', 'hosts', 'overview', 'episodes', 'events', 'diff'],
  down: ['pipeline', 'runs'],
  up: ['pipeline', 'runs'],
  first: ['pipeline', 'runs'],
  last: ['pipeline', 'runs'],
};

const lab = new Lab();
let terminal: AppTerminal;

beforeAll(async () => {
  await lab.startRun();
  terminal = lab.open([], SIZE);
  await terminal.shows(/iteration [3-9]/u);
  // What is looked at must not change by itself.
  terminal.press('pause');
  await terminal.shows(' PAUSED ');
  await terminal.shows(/steps\/s 0 /u);
});

afterAll(async () => {
  try {
    await lab.closeTerminals();
  } finally {
    await lab.remove();
  }
});

/** What is on the screen, without what changes with the clock. */
function still(screen: string): string {
  return screen.replaceAll(/[<\d.]+(?:ms|s|m\d+s|h\d+m)\b/gu, '');
}

async function goTo(way: Way): Promise<void> {
  if (way.inReplay === true) await goTo(WAYS.replay);
  else await goToOverview();
  for (const key of way.keys) terminal.key(key);
  await terminal.shows(way.shows);
}

async function goToOverview(): Promise<void> {
  // Whatever lies over it goes, and so does a filter.
  for (let press = 0; press < 3; press += 1) {
    terminal.key('escape');
    await sleep(40);
  }
  terminal.key('2');
  await terminal.shows(/\[ \] clip/u);
}

function mayBeStill(name: ActionName, screen: Screen): boolean {
  return STILL[name] !== undefined && (STILL_ON[name]?.includes(screen) ?? true);
}

it.each(keysOf(WAYS))('every key of the screen %s does something', async (screen) => {
  const way: Way = WAYS[screen];
  const names = ACTION_NAMES.filter((name) => bindingOf(name).screens.includes(screen));
  if (way.once !== undefined) {
    await goTo({ ...way, inReplay: true, keys: way.once });
  }
  expect(names.length).toBeGreaterThan(1);
  for (const name of names.filter((one) => !mayBeStill(one, screen))) {
    for (const key of bindingOf(name).keys) {
      await goTo(way);
      for (const prepare of way.prepare ?? []) terminal.key(prepare);
      // The answer to the last of them is on the screen before the next is pressed.
      await sleep(30);
      const before = still(terminal.text);
      terminal.key(key);
      await terminal.until(`${key} (${name}) changes something`, (now) => still(now) !== before);
      expect(terminal.problems()).toEqual([]);
    }
  }
});
