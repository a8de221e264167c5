import { pressKey } from '../../views/actions.ts';
import type { Look } from '../../views/look.ts';
import { drawScreen } from '../../views/screen.ts';
import type { Session } from '../../views/session.ts';
import { BRAILLE, textOf } from './looks.ts';

/** Waits for something to become true; the test's own limit ends a wait in vain. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** Presses keys, one after the other. */
export function pressOn(session: Session, ...keys: readonly string[]): void {
  for (const key of keys) pressKey(session, key, BRAILLE);
}

/** Somebody at the screen of the session that a test has at the time. */
export interface Driver {
  readonly press: (...keys: readonly string[]) => void;
  /** A text, character by character. */
  readonly type: (text: string) => void;
  /** The rows without the blanks at their ends. */
  readonly screen: (look?: Look) => string[];
}

export function driverOf(session: () => Session): Driver {
  const press = (...keys: readonly string[]): void => pressOn(session(), ...keys);
  return {
    press,
    type: (text) => press(...Array.from(text, (key) => (key === ' ' ? 'space' : key))),
    screen: (look = BRAILLE) => textOf(drawScreen(session(), look)).map((line) => line.trimEnd()),
  };
}
