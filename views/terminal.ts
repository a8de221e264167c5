import { LiveScreen } from './live-screen.ts';
import type { Look } from './look.ts';
import type { Session } from './session.ts';

const ENDING_SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;

/**
 * Shows the session on the terminal's alternate screen until the user leaves. The terminal is given back as it was on
 * every way out: quitting, a signal (which is then raised again), an error (which is then thrown). With `hasMouse` clicks and
 * the wheel are asked for.
 */
export async function showInTerminal(session: Session, look: Look, hasMouse = false): Promise<void> {
  const { stdin: input, stdout: output } = process;
  const screen = new LiveScreen(session, look, { input, output, hasMouse });
  const watch = new ExitWatch(session, screen);
  let signal: NodeJS.Signals | null;
  try {
    screen.enter();
    signal = await watch.left;
  } finally {
    screen.close();
    watch.close();
  }
  if (signal === null) return;
  session.keepView();
  process.kill(process.pid, signal);
}

/** Waits for the user, a signal or an error to end the app. */
class ExitWatch {
  readonly left: Promise<NodeJS.Signals | null>;
  readonly #undo: (() => void)[] = [];

  constructor(session: Session, screen: LiveScreen) {
    this.left = new Promise((resolve, reject) => {
      const leave = (): void => resolve(null);
      this.#undo.push(session.subscribe(() => session.quitting && leave()));
      for (const signal of ENDING_SIGNALS) this.#on(process, signal, () => resolve(signal));
      this.#on(process, 'uncaughtException', reject);
      this.#on(process, 'exit', () => screen.close());
      this.#on(process, 'SIGCONT', () => screen.enter());
      this.#on(process.stdin, 'end', leave);
      // The terminal itself has gone: SIGHUP is on its way.
      this.#on(process.stdin, 'error', leave);
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
