import { pressKey } from './actions.ts';
import type { Screen } from './key-binding.ts';
import type { MouseReport } from './keys.ts';
import type { Look } from './look.ts';
import { symbolsOf } from './look.ts';
import { move } from './movement.ts';
import { drawScreen } from './screen.ts';
import type { Session } from './session.ts';

/** What turns reports of buttons and the wheel on, in the form that has no limit of columns (xterm's modes 1000 and 1006). */
export const MOUSE_ON = '\u001B[?1000h\u001B[?1006h';
export const MOUSE_OFF = '\u001B[?1006l\u001B[?1000l';

/** Rows for one notch of the wheel. */
const WHEEL_ROWS = 3;
/** A second click on a row within so many ms opens it. */
const DOUBLE_MS = 400;
/** What lies over a screen is answered with keys. */
const KEYS_ONLY: ReadonlySet<Screen> = new Set(['confirm', 'filter', 'palette', 'prompt', 'fork']);

/** Moves by the wheel, points at the row that is clicked, and opens it with the second click. */
export class Mouse {
  readonly #session: Session;
  #clicked: { readonly row: number; readonly at: number } | null = null;

  constructor(session: Session) {
    this.#session = session;
  }

  /** `now` is ms since the epoch. */
  take(report: MouseReport, look: Look, now: number): void {
    const session = this.#session;
    if (KEYS_ONLY.has(session.front)) return;
    if (report.kind === 'wheel') move(session, report.by * WHEEL_ROWS, look);
    else this.#click(report.row, look, now);
    session.changed();
  }

  #click(row: number, look: Look, now: number): void {
    const session = this.#session;
    const { pointer } = symbolsOf(look);
    const lines = drawScreen(session, look);
    const pointed = lines.findIndex(([first]) => first?.text.startsWith(pointer) === true);
    const isEmpty = (lines[row] ?? []).every(({ text }) => text.trim() === '');
    if (pointed < 0 || isEmpty) return;
    const again = this.#clicked;
    this.#clicked = { row, at: now };
    if (row !== pointed) return move(session, row - pointed, look);
    if (again?.row !== row || now - again.at > DOUBLE_MS) return undefined;
    this.#clicked = null;
    return pressKey(session, 'enter', look);
  }
}
