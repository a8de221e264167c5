import { setTimeout as sleep } from 'node:timers/promises';
import { render } from 'ink';
import { Frame } from './frame.tsx';
import type { Look } from './look.ts';
import { ScreenPainter } from './screen-painter.ts';
import type { Session } from './session.ts';

const ENDING_SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;
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
  const painter = new ScreenPainter(process.stdout, hasMouse);
  const instance = render(<Frame session={session} look={look} painter={painter} />, {
    exitOnCtrlC: false,
    patchConsole: false,
  });
  let drawn = true;
  const ended = instance
    .waitUntilExit()
    .then((): Leaving => 'quit')
    .finally(() => {
      drawn = false;
    });
  const watch = new ExitWatch(session, () => {
    // Raw mode is not as it is said to be, when a shell has had the terminal meanwhile.
    process.stdin.setRawMode(false);
    process.stdin.setRawMode(true);
    painter.enter();
  });
  try {
    return await Promise.race([watch.left, ended]);
  } finally {
    watch.close();
    if (drawn) instance.unmount();
    process.stdin.setRawMode(false);
  }
}

/** Waits for the user, a signal or an error to end the app. */
class ExitWatch {
  readonly left: Promise<Leaving>;
  readonly #undo: (() => void)[] = [];

  /** `onContinued`: the program was stopped, and others have used the terminal since. */
  constructor(session: Session, onContinued: () => void) {
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
      this.#on(process, 'SIGCONT', onContinued);
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
