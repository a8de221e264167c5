import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keysOf } from '../../src/domain/table.ts';
import { SCREENS, type Screen } from '../../views/key-binding.ts';
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
  /** Keys after which there is something for it to show, from the overview or a replay. */
  readonly once?: { readonly inReplay: boolean; readonly keys: readonly KeyName[] };
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
  diff: {
    once: { inReplay: true, keys: ['x'] },
    keys: ['5'],
    shows: /identical/u,
    prepare: ['g', 'j'],
  },
  // Before the runs: what is marked there would be marked no more.
  compare: {
    once: { inReplay: false, keys: ['1', 'g', 'j', 'm', 'j', 'm', 'c'] },
    keys: ['1', 'c'],
    shows: /\d keys? differs?/u,
    prepare: ['g', 'j'],
  },
  runs: { keys: ['1'], shows: /start the demo run/u, prepare: ['g', 'j'] },
  knob: { keys: [']'], shows: /clip [\d.]+ → [\d.]+\?/u },
  help: { keys: ['?'], shows: /keys: overview/u, prepare: ['j'] },
  palette: { keys: [':'], shows: /Enter accept/u, prepare: ['down'] },
  filter: { keys: ['/', 'f', 'a'], shows: /fa_?$/mu },
  // What is asked about may be done: the newest episode is pinned.
  confirm: { keys: ['3', 'g', 'V', 'B', 'g', 'enter'], shows: /\[ cancel \]/iu },
  prompt: { keys: ['g', 'j', 'N'], shows: /note on e\d+/u },
  menu: { keys: ['3', 'C'], shows: /Enter choose/u, prepare: ['g', 'j'] },
  fork: { inReplay: true, keys: ['F'], shows: /^fork e\d+/mu, prepare: ['j'] },
} satisfies Partial<Record<Screen, Way>>;

/** Keys before those that would have nothing to do. */
const FIRST: Readonly<Partial<Record<ActionName, readonly KeyName[]>>> = {
  clear: LONG,
  resetCharts: ['a'],
};

/** Keys that may leave a screen as it is where they are pressed here, on which screens, and why. */
const STILL: Readonly<Partial<Record<ActionName, { readonly on: readonly Screen[]; readonly why: string }>>> =
  {
    quit: { on: ['overview'], why: 'the program ends: the last test' },
    bench: { on: ['overview'], why: 'it is this screen' },
    showReplay: { on: ['replay'], why: 'it is this screen' },
    showDiff: { on: ['diff'], why: 'it is this screen' },
    zoomOut: { on: ['overview'], why: 'the charts show all there is' },
    pageDown: { on: ['pipeline', 'replay', 'runs', 'hosts'], why: 'all of it is on the screen' },
    pageUp: { on: ['pipeline', 'replay'], why: 'all of it is on the screen' },
    down: { on: ['pipeline'], why: 'all of it is on the screen' },
    up: { on: ['pipeline'], why: 'all of it is on the screen' },
    first: { on: ['pipeline'], why: 'all of it is on the screen' },
    last: { on: ['pipeline'], why: 'all of it is on the screen' },
  };

/** What is done after a key before the next one: what it set going would come between. */
const THEN: Readonly<Partial<Record<ActionName, () => Promise<unknown>>>> = {
  pause: async () => {
    await goToOverview();
    await terminal.shows(' RUNNING ');
    await standStill();
  },
  diff: async () => await terminal.shows(/rows? differs?|the same|first try/u),
  reexecute: async () => await terminal.shows(VERDICT),
  reexecutePolicy: async () => await terminal.shows(VERDICT),
};
const VERDICT = /\b(?:identical|cosmetic|broken|(?:environment|tool|policy) drift)\b/u;

/** A screen has up to fifty keys, and the machine may be busy: some of them start a process. */
const PATIENCE_MS = 180_000;
/** Ms in which a key that does something has done it, where what was pressed before it may be the reason that it does not. */
const SHORT_MS = 1500;

const lab = new Lab();
let terminal: AppTerminal;

/** The last row of the screen that is tested: the keys that work on it. */
let footer = '';

beforeAll(async () => {
  // One to compare the other with, in so many ways that there is something to move through.
  const others = ['stop.iterations=2', 'seed=4', 'clip=0.1', 'lr=0.002', 'epochs=2'];
  const changes = others.flatMap((change) => ['--set', change]);
  await lab.cli('run', lab.writeConfig(), '--detach', ...changes);
  await lab.startRun();
  terminal = lab.open(['attach', lab.run().id], SIZE);
  await terminal.shows(/iteration [3-9]/u);
  await standStill();
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
  const [first = '', ...rest] = screen.replaceAll(/[<\d.]+(?:ms|s|m\d+s|h\d+m)\b/gu, '').split('\n');
  // What hosts and processes use goes on to change while the run stands still.
  const isLive = first.startsWith('hosts ');
  return [
    first,
    ...rest.map((row) => (isLive ? row.replaceAll(/ *\d[\d.,]*(?: [KMG]i?B| m?s)?/gu, '#') : row)),
  ].join('\n');
}

/** What is looked at must not change by itself. */
async function standStill(): Promise<void> {
  terminal.press('pause');
  await terminal.shows(' PAUSED ');
  await terminal.shows(/steps\/s 0 /u);
}

async function goTo(way: Way): Promise<void> {
  if (way.inReplay === true) await goTo(WAYS.replay);
  else await goToOverview();
  for (const key of way.keys) terminal.key(key);
  await terminal.shows(way.shows);
  footer = terminal.rows.at(-1) ?? '';
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
  return STILL[name]?.on.includes(screen) === true;
}

function isOn(way: Way, screen: string): boolean {
  return screen.split('\n').at(-1) === footer && way.shows.test(screen);
}

/** Whether the screen is in front, after Esc if need be: going there anew for each key would take most of the time. */
async function comeBack(way: Way, screen: Screen, name: ActionName): Promise<boolean> {
  // A way back is taken from where it is sure to lead back to: q twice would end the program.
  if (name === 'back') return false;
  if (isOn(way, terminal.text)) return true;
  if (screen === 'overview' || !bindingOf('help').screens.includes(screen)) return false;
  terminal.key('escape');
  return await terminal
    .until('it is back', (now) => isOn(way, now), SHORT_MS)
    .then(
      () => true,
      () => false,
    );
}

/** The screen once the answers to the keys before are on it. */
async function settled(): Promise<string> {
  for (let before = ''; ; ) {
    await sleep(30);
    const now = still(terminal.text);
    if (now === before) return now;
    before = now;
  }
}

/** Presses a key on a screen; throws when it changes nothing within `ms`. */
async function pressOn(key: KeyName, name: ActionName, way: Way, ms?: number): Promise<void> {
  for (const prepare of [...(FIRST[name] ?? []), ...(way.prepare ?? [])]) terminal.key(prepare);
  const before = await settled();
  terminal.key(key);
  await terminal.until(`${key} (${name}) changes something`, (now) => still(now) !== before, ms);
}

it.each(keysOf(WAYS))(
  'every key of the screen %s does something',
  { timeout: PATIENCE_MS },
  async (screen) => {
    const way: Way = WAYS[screen];
    const names = ACTION_NAMES.filter((name) => bindingOf(name).screens.includes(screen));
    if (way.once !== undefined) await goTo({ ...way, ...way.once });
    expect(names.length).toBeGreaterThan(1);
    await goTo(way);
    for (const name of names.filter((one) => !mayBeStill(one, screen))) {
      for (const key of bindingOf(name).keys) {
        // Going there again for each key would take most of the time.
        const isThere = await comeBack(way, screen, name);
        if (!isThere) await goTo(way);
        try {
          await pressOn(key, name, way, isThere ? SHORT_MS : undefined);
        } catch (thrown) {
          if (!isThere) throw thrown;
          await goTo(way);
          await pressOn(key, name, way);
        }
        expect(terminal.problems()).toEqual([]);
        await THEN[name]?.();
      }
    }
  },
);

it('has pressed every key that the help lists', () => {
  const tested = new Set<Screen>(keysOf(WAYS));
  expect(SCREENS.filter((screen) => !tested.has(screen))).toEqual([]);
});

it('q on the overview ends the program', async () => {
  await goToOverview();
  terminal.press('quit');
  expect(await terminal.exited).toMatchObject({ code: 0 });
});
