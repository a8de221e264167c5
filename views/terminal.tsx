import { render } from 'ink';
import { Frame } from './frame.tsx';
import type { Look } from './look.ts';
import { MOUSE_OFF, MOUSE_ON } from './mouse.ts';
import type { Session } from './session.ts';

const ENDING_SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;
/** Keys must not wait for a frame's turn; data come four times a second by themselves. */
const MAX_FPS = 1000;

/**
 * Shows the session on the terminal's alternate screen until the user leaves. The terminal is given back as it was on
 * every way out: quitting, a signal (which is then raised again), an error (which is then thrown). With `hasMouse` clicks and
 * the wheel are asked for.
 */
export async function showInTerminal(session: Session, look: Look, hasMouse = false): Promise<void> {
  // The first frame has the right size already, not only the one after Ink has told it.
  session.resize({ columns: process.stdout.columns, rows: process.stdout.rows });
  // Ink does it only after the first frame: a key pressed before would be echoed into it, and Enter would scroll it.
  process.stdin.setRawMode(true);
  const instance = render(<Frame session={session} look={look} />, {
    alternateBuffer: true,
    incrementalRendering: true,
    maxFps: MAX_FPS,
    exitOnCtrlC: false,
    patchConsole: false,
  });
  if (hasMouse) process.stdout.write(MOUSE_ON);
  let drawn = true;
  const ended = instance.waitUntilExit().finally(() => {
    drawn = false;
  });
  const watch = new ExitWatch(session);
  let signal: NodeJS.Signals | null | void;
  try {
    signal = await Promise.race([watch.left, ended]);
  } finally {
    watch.close();
    if (drawn) {
      // Ink writes what is on the screen to the normal screen when it goes: make it nothing.
      instance.rerender(null);
      instance.unmount();
    }
    if (hasMouse) process.stdout.write(MOUSE_OFF);
    process.stdin.setRawMode(false);
  }
  if (typeof signal !== 'string') return;
  session.keepView();
  process.kill(process.pid, signal);
}

/** Waits for the user, a signal or an error to end the app. */
class ExitWatch {
  readonly left: Promise<NodeJS.Signals | null>;
  readonly #undo: (() => void)[] = [];

  constructor(session: Session) {
    this.left = new Promise((resolve, reject) => {
      const leave = (): void => resolve(null);
      this.#undo.push(session.subscribe(() => session.quitting && leave()));
      for (const signal of ENDING_SIGNALS) this.#on(process, signal, () => resolve(signal));
      this.#on(process, 'uncaughtException', reject);
      this.#on(process.stdin, 'end', leave);
      // The terminal itself has gone: SIGHUP is on its way.
      this.#on(process.stdout, 'error', leave);
    });
  }

  close(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  #on(emitter: NodeJS.EventEmitter, event: string, listener: (thrown: unknown) => void): void {
    emitter.on(event, listener);
    this.#undo.push(() => void emitter.off(event, listener));
  }
}
