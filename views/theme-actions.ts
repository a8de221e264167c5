import type { ThemeName } from '../src/domain/display.ts';
import type { Look } from './look.ts';
import type { Session } from './session.ts';
import { nextTheme } from './theme.ts';

const THEME_TEXTS: Readonly<Record<ThemeName, string>> = {
  dark: 'colours for a dark background; to begin with them: --theme dark',
  light: 'colours for a light background; to begin with them: --theme light',
  terminal: "the terminal's own sixteen colours; to begin with them: --theme terminal",
};

/** Goes on to the next theme, and says how to begin with it. */
export function changeTheme(session: Session, look: Look): void {
  const { colour } = session.themed(look);
  if (colour === null) return session.say('this terminal shows no colours');
  session.theme = nextTheme(colour.theme);
  return session.say(THEME_TEXTS[session.theme]);
}
