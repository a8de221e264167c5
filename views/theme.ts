import { THEME_NAMES, type ThemeName } from '../src/domain/display.ts';
import type { Tone } from './look.ts';

/** Parameters of the escape sequence that turns a tone's colour on (ECMA-48 SGR); none for what has the terminal's own. */
export type Colours = Readonly<Partial<Record<Tone, string>>>;

/** How many colours the terminal shows. */
export type ColourDepth = 16 | 256;

/**
 * Numbers of xterm's 256 colours: the cube and the greys (16 to 255) look the same whatever the terminal's theme is. Hues
 * after Okabe and Ito ("Color Universal Design", 2008), which stay apart for every kind of colour blindness, made lighter or
 * darker until each has a contrast of 4.5 or more (WCAG 2.2, 1.4.3) with its background; test/views/theme.test.ts computes both.
 */
const CUBE: Readonly<Record<'dark' | 'light', Readonly<Partial<Record<Tone, number>>>>> = {
  dark: { good: 43, bad: 208, warn: 227, accent: 117, first: 117, second: 214, mark: 175, loud: 208 },
  light: { good: 24, bad: 161, warn: 94, accent: 25, first: 25, second: 130, mark: 90, loud: 161 },
};

/** Cyan and red, not green and red; blue and yellow for curves. */
const SIXTEEN: Colours = {
  good: '36',
  bad: '31',
  warn: '33',
  accent: '34',
  first: '94',
  second: '33',
  mark: '35',
  loud: '31',
};

const FROM_CUBE = { dark: sequences(CUBE.dark), light: sequences(CUBE.light) } as const;

function sequences(numbers: Readonly<Partial<Record<Tone, number>>>): Colours {
  return Object.fromEntries(Object.entries(numbers).map(([tone, number]) => [tone, `38;5;${number}`]));
}

/** The colours of a theme on a terminal with so many. With sixteen there is only the terminal's own. */
export function coloursOf(theme: ThemeName, depth: ColourDepth): Colours {
  return theme === 'terminal' || depth === 16 ? SIXTEEN : FROM_CUBE[theme];
}

/** How many colours the terminal says it has (COLORTERM, TERM). */
export function detectDepth(environment: Readonly<Record<string, string | undefined>>): ColourDepth {
  const isTrue = /^(?:truecolor|24bit)$/u.test(environment['COLORTERM'] ?? '');
  return isTrue || /256color|direct|kitty|alacritty/u.test(environment['TERM'] ?? '') ? 256 : 16;
}

/** `light` where the terminal says that its background is (COLORFGBG, as rxvt and Konsole set it), else `dark`. */
export function detectTheme(environment: Readonly<Record<string, string | undefined>>): ThemeName {
  const background = environment['COLORFGBG']?.split(';').at(-1);
  return background === '7' || background === '15' ? 'light' : 'dark';
}

/** The theme after this one. */
export function nextTheme(theme: ThemeName): ThemeName {
  return THEME_NAMES[(THEME_NAMES.indexOf(theme) + 1) % THEME_NAMES.length] ?? 'dark';
}
