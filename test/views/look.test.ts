import { describe, expect, it } from 'vitest';
import { detectLook, styleOf } from '../../views/look.ts';

describe('detectLook', () => {
  it.each([
    [
      { LANG: 'en_US.UTF-8', TERM: 'xterm-256color' },
      { glyphs: 'braille', colour: { theme: 'dark', depth: 256 }, attributes: true },
    ],
    [
      { LANG: 'en_US.UTF-8', TERM: 'xterm', NO_COLOR: '1' },
      { glyphs: 'braille', colour: null, attributes: true },
    ],
    [
      { LANG: 'en_US.UTF-8', TERM: 'linux' },
      { glyphs: 'block', colour: { theme: 'dark', depth: 16 }, attributes: true },
    ],
    [
      { LANG: 'C', TERM: 'xterm' },
      { glyphs: 'ascii', colour: { theme: 'dark', depth: 16 }, attributes: true },
    ],
    [
      { LANG: 'en_US.UTF-8', LC_ALL: 'C', TERM: 'xterm' },
      { glyphs: 'ascii', colour: { theme: 'dark', depth: 16 }, attributes: true },
    ],
    [
      { LANG: 'en_US.UTF-8', TERM: 'dumb' },
      { glyphs: 'ascii', colour: null, attributes: false },
    ],
    [
      { LANG: 'en_US.UTF-8', TERM: 'tmux', COLORTERM: 'truecolor', COLORFGBG: '0;15' },
      { glyphs: 'braille', colour: { theme: 'light', depth: 256 }, attributes: true },
    ],
    [{}, { glyphs: 'ascii', colour: null, attributes: false }],
  ])('reads %j', (environment, look) => {
    expect(detectLook(environment)).toEqual(look);
  });
});

it('takes the theme that is asked for, where there is colour', () => {
  const environment = { LANG: 'en_US.UTF-8', TERM: 'xterm', COLORFGBG: '15;0' };
  expect(detectLook(environment, 'light').colour).toEqual({ theme: 'light', depth: 16 });
  expect(detectLook({ ...environment, NO_COLOR: '1' }, 'light').colour).toBeNull();
});

describe('styleOf', () => {
  it('is empty for a plain text, and on a terminal without escape sequences', () => {
    const look = { glyphs: 'ascii', colour: { theme: 'dark', depth: 16 }, attributes: true } as const;
    expect(styleOf(look, 'plain')).toBe('');
    expect(styleOf(look, 'bad')).toBe('1;31');
    expect(styleOf({ ...look, attributes: false }, 'bad')).toBe('');
  });
});
