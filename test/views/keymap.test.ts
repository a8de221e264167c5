import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type KeyContext, SCREENS } from '../../views/key-binding.ts';
import { ACTION_NAMES, actionOf, bindingOf, disabledReason, keyText } from '../../views/keymap.ts';

const LIVE: KeyContext = {
  hasRun: true,
  live: true,
  state: 'running',
  rows: 5,
  canUndo: true,
  eventEpisodes: true,
  completes: true,
  isSearching: false,
  hasReplay: false,
  hasDiff: true,
};

describe('the key table', () => {
  it('gives a key at most one meaning on a screen', () => {
    for (const screen of SCREENS) {
      const names = ACTION_NAMES.filter((name) => bindingOf(name).screens.includes(screen));
      const keys = names.flatMap((name) => bindingOf(name).keys);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  it('has arrows and vim keys for every movement', () => {
    expect(actionOf('overview', 'j')).toBe('down');
    expect(actionOf('overview', 'down')).toBe('down');
    expect(actionOf('replay', 'k')).toBe(actionOf('replay', 'up'));
  });

  it('means nothing by a key of another screen', () => {
    expect(actionOf('replay', 'S')).toBeNull();
    expect(actionOf('overview', 'y')).toBeNull();
  });

  it('gives a waiting knob keys of its own, and leaves it those of the overview', () => {
    expect(actionOf('overview', 'enter')).toBe('open');
    expect(actionOf('knob', 'enter')).toBe('commit');
    expect(actionOf('knob', 'u')).toBe('drop');
    expect(actionOf('knob', ']')).toBe('clipUp');
    expect(actionOf('knob', 'y')).toBeNull();
  });

  it('has a way out of every screen', () => {
    const ways = new Set<string>(['back', 'quit', 'cancel', 'drop', 'leaveFork', 'leave']);
    for (const screen of SCREENS) {
      const names = ACTION_NAMES.filter((name) => bindingOf(name).screens.includes(screen));
      expect(names.some((name) => ways.has(name))).toBe(true);
    }
  });

  it('says why a key does nothing', () => {
    expect(disabledReason('pause', LIVE)).toBeNull();
    expect(disabledReason('pause', { ...LIVE, live: false, state: 'stopped' })).toBe(
      'the run is not live (stopped)',
    );
    expect(disabledReason('clipUp', { ...LIVE, live: false, state: null })).toBe('the run does not answer');
    expect(disabledReason('stop', { ...LIVE, hasRun: false })).toBe('no run is open');
    expect(disabledReason('open', { ...LIVE, rows: 0 })).toBe('there is nothing to open yet');
    expect(disabledReason('undo', { ...LIVE, canUndo: false })).toBe(
      'no change of a knob is left to take back',
    );
    expect(disabledReason('eventEpisodes', { ...LIVE, eventEpisodes: false })).toBe(
      'no event has named episodes yet',
    );
  });

  it('is what docs/UI.md lists', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/UI.md'), 'utf8');
    const rows = ACTION_NAMES.map((name) => {
      const { keys, screens, description } = bindingOf(name);
      return `| ${keys.map((key) => `\`${keyText(key)}\``).join(' ')} | ${screens.join(', ')} | ${description} |`;
    });
    // Formatters pad the cells of a table.
    const listed = page.split('\n').filter((line) => line.startsWith('| `'));
    expect(listed.map((line) => line.replaceAll(/ {2,}/gu, ' '))).toEqual(rows);
  });
});
