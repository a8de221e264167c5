import { describe, expect, it } from 'vitest';
import { detectLook, paint } from '../../views/look.ts';

describe('detectLook', () => {
  it.each([
    [
      { LANG: 'en_US.UTF-8', TERM: 'xterm-256color' },
      { glyphs: 'braille', colour: true, attributes: true },
    ],
    [
      { LANG: 'en_US.UTF-8', TERM: 'xterm', NO_COLOR: '1' },
      { glyphs: 'braille', colour: false, attributes: true },
    ],
    [
      { LANG: 'en_US.UTF-8', TERM: 'linux' },
      { glyphs: 'block', colour: true, attributes: true },
    ],
    [
      { LANG: 'C', TERM: 'xterm' },
      { glyphs: 'ascii', colour: true, attributes: true },
    ],
    [
      { LANG: 'en_US.UTF-8', LC_ALL: 'C', TERM: 'xterm' },
      { glyphs: 'ascii', colour: true, attributes: true },
    ],
    [
      { LANG: 'en_US.UTF-8', TERM: 'dumb' },
      { glyphs: 'ascii', colour: false, attributes: false },
    ],
    [{}, { glyphs: 'ascii', colour: false, attributes: false }],
  ])('reads %j', (environment, look) => {
    expect(detectLook(environment)).toEqual(look);
  });
});

describe('paint', () => {
  it('leaves an empty text and a plain one alone', () => {
    const look = { glyphs: 'ascii', colour: true, attributes: true } as const;
    expect(paint(look, 'bad', '')).toBe('');
    expect(paint(look, 'plain', 'x')).toBe('x');
  });
});
