import { describe, expect, it } from 'vitest';
import { THEME_NAMES } from '../../src/domain/display.ts';
import type { Tone } from '../../views/look.ts';
import { coloursOf, detectTheme, nextTheme } from '../../views/theme.ts';

type Rgb = readonly [red: number, green: number, blue: number];

/** Levels of the colour cube of xterm's 256 colours. */
const LEVELS = [0, 95, 135, 175, 215, 255] as const;

function channel(steps: number): number {
  const level = (LEVELS[steps] ?? 0) / 255;
  return level <= 0.04045 ? level / 12.92 : ((level + 0.055) / 1.055) ** 2.4;
}

/** The colour in linear light, each part in [0, 1] (IEC 61966-2-1 for sRGB). */
function linear(number: number): Rgb {
  const place = number - 16;
  return [channel(Math.floor(place / 36)), channel(Math.floor(place / 6) % 6), channel(place % 6)];
}

function multiply(matrix: readonly Rgb[], [r, g, b]: Rgb): Rgb {
  const [x = 0, y = 0, z = 0] = matrix.map(([red, green, blue]) => red * r + green * g + blue * b);
  return [x, y, z];
}

/** What people without one kind of cone see (Machado, Oliveira, Fernandes 2009, severity 1). */
const SEEN_BY: Readonly<Record<string, readonly Rgb[]>> = {
  everybody: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopes: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopes: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopes: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

const TO_XYZ: readonly Rgb[] = [
  [0.4124564, 0.3575761, 0.1804375],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339, 0.119192, 0.9503041],
];

/** CIE 15, the function f of L*a*b*. */
function curve(t: number): number {
  return t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 / 116) * Math.max(0, t) + 16 / 116;
}

/** CIE L*a*b* under D65. */
function lab(rgb: Rgb): Rgb {
  const [x, y, z] = multiply(TO_XYZ, rgb);
  const [fx, fy, fz] = [curve(x / 0.95047), curve(y), curve(z / 1.08883)];
  return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)];
}

/** CIE 1976: about 2 is a difference that is just seen. */
function difference(a: Rgb, b: Rgb): number {
  return Math.hypot(...a.map((part, i) => part - (b[i] ?? 0)));
}

/** WCAG 2.2, "contrast ratio". */
function contrast(a: Rgb, b: Rgb): number {
  const [dark = 0, light = 0] = [a, b]
    .map(([r, g, blue]) => 0.2126 * r + 0.7152 * g + 0.0722 * blue)
    .toSorted((one, other) => one - other);
  return (light + 0.05) / (dark + 0.05);
}

function rgbOf(theme: 'dark' | 'light', tone: Tone): Rgb {
  const number = /^38;5;(\d+)$/u.exec(coloursOf(theme, 256)[tone] ?? '')?.[1];
  if (number === undefined) throw new Error(`${theme} has no colour for ${tone}`);
  return linear(Number(number));
}

const TONES = ['good', 'bad', 'warn', 'accent', 'first', 'second', 'mark', 'loud'] as const;
/** What must not be taken for one another: they stand beside each other. */
const APART: readonly (readonly [Tone, Tone])[] = [
  ['good', 'bad'],
  ['good', 'warn'],
  ['bad', 'warn'],
  ['first', 'second'],
  ['first', 'mark'],
  ['second', 'mark'],
  ['accent', 'bad'],
];

describe.each(['dark', 'light'] as const)('the %s theme', (theme) => {
  const background: Rgb = theme === 'dark' ? [0.0137, 0.0137, 0.0137] : [1, 1, 1];

  it('can be read on its background, a very dark grey or white', () => {
    const pale = TONES.filter((tone) => contrast(rgbOf(theme, tone), background) < 4.5);
    expect(pale).toEqual([]);
  });

  it.each(Object.keys(SEEN_BY))('keeps apart what must not be confused, for %s', (people) => {
    const seen = (tone: Tone): Rgb => lab(multiply(SEEN_BY[people] ?? [], rgbOf(theme, tone)));
    const alike = APART.filter(([a, b]) => difference(seen(a), seen(b)) < 15);
    expect(alike).toEqual([]);
  });
});

it('with sixteen colours every theme has those of the terminal', () => {
  for (const theme of THEME_NAMES) expect(coloursOf(theme, 16)).toEqual(coloursOf('terminal', 256));
});

it('goes round through the themes', () => {
  expect(THEME_NAMES.map(nextTheme)).toEqual([...THEME_NAMES.slice(1), THEME_NAMES[0]]);
});

it.each([
  ['0;15', 'light'],
  ['0;default;7', 'light'],
  ['15;0', 'dark'],
  [undefined, 'dark'],
])('takes COLORFGBG=%s as %s', (COLORFGBG, theme) => {
  expect(detectTheme({ COLORFGBG })).toBe(theme);
});
