import type { ThemeName } from '../src/domain/display.ts';
import { type ColourDepth, coloursOf, detectDepth, detectTheme } from './theme.ts';

/** How finely charts may be drawn: braille 2×4 dots a cell, half blocks 1×2, or plain ASCII 1×1. */
export type GlyphLevel = 'braille' | 'block' | 'ascii';

/** What this terminal can show. */
export interface Look {
  readonly glyphs: GlyphLevel;
  /** Null under NO_COLOR: meaning is then carried by words, markers and attributes alone. */
  readonly colour: { readonly theme: ThemeName; readonly depth: ColourDepth } | null;
  /** False on terminals without escape sequences for bold, dim and inverse. */
  readonly attributes: boolean;
  /** Curves and bars are told in words and not drawn: somebody hears them. */
  readonly told?: boolean;
}

/** What a piece of text means; `styleOf` turns it into escape sequences. */
export type Tone =
  | 'plain'
  | 'dim'
  | 'bold'
  | 'good'
  | 'bad'
  | 'warn'
  | 'accent'
  | 'first'
  | 'second'
  | 'guide'
  | 'mark'
  | 'selected'
  | 'loud';

const ATTRIBUTES: Readonly<Record<Tone, string>> = {
  plain: '',
  dim: '2',
  bold: '1',
  good: '',
  bad: '1',
  warn: '1',
  accent: '1',
  first: '',
  second: '',
  guide: '2',
  mark: '',
  selected: '7',
  loud: '1;7',
};

/** Reads the terminal's abilities from its environment variables (locale, TERM, NO_COLOR); without a theme, that too. */
export function detectLook(
  environment: Readonly<Record<string, string | undefined>>,
  theme: ThemeName | null = null,
): Look {
  const locale = environment['LC_ALL'] || environment['LC_CTYPE'] || environment['LANG'] || '';
  const terminal = environment['TERM'] ?? '';
  const attributes = terminal !== 'dumb' && terminal !== '';
  const hasColour = attributes && !environment['NO_COLOR'];
  const colour = hasColour
    ? { theme: theme ?? detectTheme(environment), depth: detectDepth(environment) }
    : null;
  if (!/utf-?8/iu.test(locale) || !attributes) return { glyphs: 'ascii', colour, attributes };
  // The Linux console's font has blocks but no braille.
  return { glyphs: terminal === 'linux' ? 'block' : 'braille', colour, attributes };
}

/** Parameters of the escape sequence that turns a tone on (ECMA-48 SGR); '' where there is nothing to turn on. */
export function styleOf(look: Look, tone: Tone): string {
  if (!look.attributes) return '';
  const colour = look.colour === null ? '' : (coloursOf(look.colour.theme, look.colour.depth)[tone] ?? '');
  const attributes = ATTRIBUTES[tone];
  return attributes === '' || colour === '' ? attributes + colour : `${attributes};${colour}`;
}

/** Single characters that have a plain ASCII stand-in, each one column wide. */
export interface Symbols {
  readonly pointer: string;
  readonly rule: string;
  readonly bar: string;
  readonly dot: string;
  readonly arrow: string;
  readonly up: string;
  readonly down: string;
  readonly ellipsis: string;
  readonly solid: string;
  readonly dashed: string;
  readonly dotted: string;
  readonly warning: string;
  /** Of a curve in one row, the lowest first: one column each. */
  readonly levels: string;
  /** Behind a knob that a schedule moves. */
  readonly rising: string;
  readonly falling: string;
  readonly unmoved: string;
}

const UNICODE_SYMBOLS: Symbols = {
  pointer: '›',
  rule: '─',
  bar: '│',
  dot: '·',
  arrow: '→',
  up: '↑',
  down: '↓',
  ellipsis: '…',
  solid: '─',
  dashed: '┄',
  dotted: '·',
  warning: '!',
  levels: '▁▂▃▄▅▆▇█',
  rising: '↗',
  falling: '↘',
  unmoved: '~',
};

const ASCII_SYMBOLS: Symbols = {
  pointer: '>',
  rule: '-',
  bar: '|',
  dot: '-',
  arrow: '>',
  up: '^',
  down: 'v',
  ellipsis: '~',
  solid: '*',
  dashed: 'o',
  dotted: '.',
  warning: '!',
  levels: '_.-=+*%#',
  rising: '~',
  falling: '~',
  unmoved: '~',
};

/** The symbols that this terminal can show. */
export function symbolsOf(look: Look): Symbols {
  return look.glyphs === 'ascii' ? ASCII_SYMBOLS : UNICODE_SYMBOLS;
}
