import { setTimeout as sleep } from 'node:timers/promises';
import { render } from 'ink';
import { Frame } from './frame.tsx';
import type { Look } from './look.ts';
import { MOUSE_OFF, MOUSE_ON } from './mouse.ts';
import { PASTE_OFF, PASTE_ON } from './paste.ts';
import type { Session } from './session.ts';

const ENDING_SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;
/** Keys must not wait for a frame's turn; data come four times a second by themselves. */
const MAX_FPS = 1000;
/** Ms that a signal to stop may take to be there. */
const STOP_MS = 50;

/** Why the screen was left. */
type Leaving = NodeJS.Signals | 'quit';

/**
 * Shows the session on the terminal's alternate screen until the user leaves. The terminal is given back as it was on
 * every way out: quitting, a signal (which is then raised again), an error (which is then thrown), being suspended by the shell's
 * job control. With `hasMouse` clicks and the wheel are asked for.
 */
export async function showInTerminal(session: Session, look: Look, hasMouse = false): Promise<void> {
  let left = await showUntilLeft(session, look, hasMouse);
  while (left === 'SIGTSTP') {
    // The whole job: a program that started this one and waits for it would keep the shell from coming back.
    process.kill(0, 'SIGTSTP');
    await sleep(STOP_MS);
    left = await showUntilLeft(session, look, hasMouse);
  }
  if (left === 'quit') return;
  session.keepView();
  process.kill(process.pid, left);
}

async function showUntilLeft(session: Session, look: Look, hasMouse: boolean): Promise<Leaving> {
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
  const modes = hasMouse ? [PASTE_ON, MOUSE_ON] : [PASTE_ON];
  process.stdout.write(modes.join(''));
  let drawn = true;
  const ended = instance
    .waitUntilExit()
    .then((): Leaving => 'quit')
    .finally(() => {
      drawn = false;
    });
  const watch = new ExitWatch(session);
  try {
    return await Promise.race([watch.left, ended]);
  } finally {
    watch.close();
    if (drawn) {
      // Ink writes what is on the screen to the normal screen when it goes: make it nothing.
      instance.rerender(null);
      instance.unmount();
    }
    process.stdout.write(hasMouse ? MOUSE_OFF + PASTE_OFF : PASTE_OFF);
    process.stdin.setRawMode(false);
  }
}

/** Waits for the user, a signal or an error to end the app. */
class ExitWatch {
  readonly left: Promise<Leaving>;
  readonly #undo: (() => void)[] = [];

  constructor(session: Session) {
    this.left = new Promise((resolve, reject) => {
      const leave = (): void => resolve('quit');
      const suspend = (): void => resolve('SIGTSTP');
      this.#undo.push(
        session.subscribe(() => {
          if (session.quitting) leave();
          else if (session.takeSuspension()) suspend();
        }),
      );
      this.#on(process, 'SIGTSTP', suspend);
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
