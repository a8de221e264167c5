import type { Line } from '../../views/line.ts';
import type { Look } from '../../views/look.ts';

export const PLAIN: Look = { glyphs: 'ascii', colour: null, attributes: false };
export const BLOCK: Look = { glyphs: 'block', colour: null, attributes: false };
export const BRAILLE: Look = { glyphs: 'braille', colour: null, attributes: false };
export const COLOUR: Look = { glyphs: 'braille', colour: { theme: 'terminal', depth: 16 }, attributes: true };

/** The characters of each line, without tones. */
export function textOf(lines: readonly Line[]): string[] {
  return lines.map((line) => line.map(({ text }) => text).join(''));
}
