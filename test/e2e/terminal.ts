import { type IPty, spawn } from '@lydell/node-pty';
import { Unicode11Addon } from '@xterm/addon-unicode11';
import { Terminal } from '@xterm/headless';
import { type ActionName, bindingOf } from '../../views/keymap.ts';
import type { KeyName } from '../../views/keys.ts';
import { CLI } from '../support/cli.ts';

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** How the program ended. */
export interface ProgramExit {
  readonly code: number;
  readonly signal: number | undefined;
}

/** What one synchronised update of the screen took. */
export interface DrawnFrame {
  readonly bytes: number;
  /** It cleared the whole screen, which flickers where synchronised output is not known. */
  readonly cleared: boolean;
}

/** Every frame stands between these (synchronised output, mode 2026). */
const FRAME_START = '\u001B[?2026h';
const FRAME_END = '\u001B[?2026l';
// oxlint-disable-next-line no-control-regex -- terminals are sent control characters
const FRAME = /\u001B\[\?2026h(.*?)\u001B\[\?2026l/gsu;
// oxlint-disable-next-line no-control-regex -- terminals are sent control characters
const FULL_CLEAR = /\u001B\[[23]J/u;
// oxlint-disable-next-line no-control-regex -- terminals are sent control characters
const MODE = /\u001B\[\?\d+[hl]/gu;

/** Below the tests' own limit, so that a wait that fails still prints the screen. */
const PATIENCE_MS = 20_000;

/** What terminals send for keys whose name is not the character itself. */
const KEY_BYTES: Readonly<Record<KeyName, string>> = {
  space: ' ',
  enter: '\r',
  escape: '\u001B',
  tab: '\t',
  pgdn: '\u001B[6~',
  pgup: '\u001B[5~',
  up: '\u001B[A',
  down: '\u001B[B',
  right: '\u001B[C',
  left: '\u001B[D',
  home: '\u001B[H',
  end: '\u001B[F',
  'shift-tab': '\u001B[Z',
};

function bytesOf(key: KeyName): string {
  const [, letter] = /^ctrl-([a-z])$/u.exec(key) ?? [];
  return (
    KEY_BYTES[key] ?? (letter === undefined ? key : String.fromCodePoint((letter.codePointAt(0) ?? 0) - 96))
  );
}

/** The built program in a pseudo-terminal, and the screen it draws. */
export class AppTerminal {
  readonly exited: Promise<ProgramExit>;
  readonly #pty: IPty;
  readonly #screen: Terminal;
  readonly #watchers = new Set<() => void>();
  /** Everything received, escape sequences included. */
  #received = '';
  #wrapped: string | null = null;
  #size: ScreenSize;
  #ended = false;
  /** The screen holds whole frames: what came last was not the middle of one. */
  #settled = true;

  /** Runs `agentrl-lab …args`; with `then`, a shell command in the same terminal afterwards. */
  constructor(args: readonly string[], size: ScreenSize, then = 'true') {
    this.#size = size;
    this.#screen = new Terminal({ cols: size.columns, rows: size.rows, allowProposedApi: true });
    this.#screen.loadAddon(new Unicode11Addon());
    this.#screen.unicode.activeVersion = '11';
    const script = `"$0" "$@"; code=$?; ${then}; exit $code`;
    this.#pty = spawn('sh', ['-c', script, process.execPath, CLI, ...args], {
      name: 'xterm-256color',
      cols: size.columns,
      rows: size.rows,
      env: childEnvironment(),
    });
    // Answers to what the program asks the terminal.
    this.#screen.onData((answer) => this.#pty.write(answer));
    this.#pty.onData((data) => {
      this.#received += data;
      const settled = this.#received.lastIndexOf(FRAME_START) <= this.#received.lastIndexOf(FRAME_END);
      this.#screen.write(data, () => this.#drawn(settled));
    });
    this.exited = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode, signal }) => {
        this.#ended = true;
        // The parser may still have something to do.
        this.#screen.write('', () => {
          resolve({ code: exitCode, signal });
          this.#drawn(true);
        });
      });
    });
  }

  /** The process in the terminal: the shell around the program. */
  get pid(): number {
    return this.#pty.pid;
  }

  /** The rows of the screen without the blanks at their ends. */
  get rows(): string[] {
    const { active } = this.#screen.buffer;
    return Array.from({ length: this.#screen.rows }, (_, row) => {
      const line = active.getLine(active.baseY + row);
      return line?.translateToString(true, 0, this.#screen.cols).trimEnd() ?? '';
    });
  }

  get text(): string {
    return this.rows.join('\n');
  }

  /** The program has the alternate screen; what was there before comes back when it leaves it. */
  get alternate(): boolean {
    return this.#screen.buffer.active.type === 'alternate';
  }

  get cursorShown(): boolean {
    return this.#received.lastIndexOf('\u001B[?25h') > this.#received.lastIndexOf('\u001B[?25l');
  }

  /** Long lines go on in the next row, as shells want it. */
  get wraps(): boolean {
    return this.#screen.modes.wraparoundMode;
  }

  /** The terminal marks pastes, as programs with lines to paste into want it. */
  get marksPastes(): boolean {
    return this.#screen.modes.bracketedPasteMode;
  }

  /** The frames drawn so far, the oldest first. */
  get frames(): DrawnFrame[] {
    return [...this.#received.matchAll(FRAME)].map(([frame]) => ({
      bytes: Buffer.byteLength(frame),
      cleared: FULL_CLEAR.test(frame),
    }));
  }

  /** Waits until the screen holds a text; returns the screen. */
  async shows(expected: string | RegExp): Promise<string> {
    const holds = (text: string): boolean =>
      typeof expected === 'string' ? text.includes(expected) : expected.test(text);
    return await this.until(`the screen shows ${String(expected)}`, holds);
  }

  /** Waits until the screen is as wanted; returns the screen. Throws with the screen as it is when it does not get there. */
  async until(what: string, holds: (screen: string) => boolean, ms = PATIENCE_MS): Promise<string> {
    return await new Promise((resolve, reject) => {
      const done = (act: () => void): void => {
        clearTimeout(timer);
        this.#watchers.delete(look);
        act();
      };
      const giveUp = (why: string): void => {
        done(() => reject(new Error(`waited until ${what}, but ${why}; the screen:\n${this.text}`)));
      };
      const look = (): void => {
        if (!this.#settled) return;
        const { text } = this;
        if (holds(text)) done(() => resolve(text));
        else if (this.#ended) giveUp('the program has ended');
      };
      const timer = setTimeout(() => giveUp(`nothing came in ${ms} ms`), ms);
      this.#watchers.add(look);
      look();
    });
  }

  /** Presses the key of an action. */
  press(action: ActionName): void {
    const [key = ''] = bindingOf(action).keys;
    this.key(key);
  }

  /** Presses a key. */
  key(name: KeyName): void {
    this.#pty.write(bytesOf(name));
  }

  /** Types a text in one go. */
  type(text: string): void {
    this.#pty.write(text);
  }

  /** Pastes a text, as terminals do where the program has asked for marks. */
  paste(text: string): void {
    this.#pty.write(this.marksPastes ? `\u001B[200~${text}\u001B[201~` : text);
  }

  /** Changes the size of the window. */
  resize(size: ScreenSize): void {
    this.#size = size;
    this.#screen.resize(size.columns, size.rows);
    this.#pty.resize(size.columns, size.rows);
  }

  /** The window is closed, or the connection to it is lost. */
  hangUp(): void {
    this.#pty.kill('SIGHUP');
  }

  /** Ends the program if it has not ended. */
  async close(): Promise<void> {
    if (!this.#ended) this.#pty.kill('SIGKILL');
    await this.exited;
    this.#screen.dispose();
  }

  /** What was wrong with the frames so far; empty when every one was clean. */
  problems(): string[] {
    const clears = this.frames.filter(({ cleared }) => cleared).length;
    const echoed = this.#betweenFrames();
    return [
      ...(echoed === '' ? [] : [`the terminal echoed into the screen: ${JSON.stringify(echoed)}`]),
      ...(clears > 0 ? [`${clears} frames cleared the whole screen`] : []),
      ...(this.#wrapped === null ? [] : [`a row was longer than the screen is wide:\n${this.#wrapped}`]),
    ];
  }

  /** What came onto the program's screen beside its frames: keys that the terminal echoed. */
  #betweenFrames(): string {
    const [, onScreen = ''] = this.#received.split('\u001B[?1049h');
    const [drawn = ''] = onScreen.split('\u001B[?1049l');
    // A program that is killed leaves its last frame unfinished.
    const [rest = ''] = drawn.replaceAll(FRAME, '').split(FRAME_START);
    return rest.replaceAll(MODE, '');
  }

  #drawn(settled: boolean): void {
    this.#settled = settled;
    const { active } = this.#screen.buffer;
    if (active.type === 'alternate') {
      for (let row = 0; row < this.#size.rows; row += 1) {
        if (active.getLine(row)?.isWrapped === true) this.#wrapped ??= this.text;
      }
    }
    for (const watcher of this.#watchers) watcher();
  }
}

/** Ours without the marks of CI, under which programs take terminals for logs. */
function childEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^(?:CI(?:_.*)?|CONTINUOUS_INTEGRATION|NO_COLOR)$/u.test(entry[0]),
  );
  return { ...Object.fromEntries(kept), LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' };
}
