/** `dark` and `light` are for backgrounds of that kind; `terminal` has the sixteen colours of the terminal's own theme. */
export const THEME_NAMES = ['dark', 'light', 'terminal'] as const;
export type ThemeName = (typeof THEME_NAMES)[number];

/** How people want the screen shown. */
export interface Display {
  /** Null: by what the terminal says of itself. */
  readonly theme: ThemeName | null;
  /** Clicks and the wheel are ours; else the terminal's, which selects text with them. */
  readonly mouse: boolean;
  /** Commands and lines instead of a screen. */
  readonly lines: boolean;
}
