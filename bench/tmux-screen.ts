import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { type IPty, spawn } from '@lydell/node-pty';
import xterm, { type Terminal } from '@xterm/headless';
import { LabError } from '../src/domain/error.ts';

/** Chunks that come within so many ms of one another belong to one frame: tmux writes a frame in several. */
const SAME_FRAME_MS = 3;

/** What came from the terminal in some time. */
export interface Traffic {
  readonly bytes: number;
  readonly frames: number;
}

/** A program inside tmux inside a pseudo-terminal, as its users have it, and the screen that they see. */
export class TmuxScreen {
  readonly #server = `bench-${randomUUID().slice(0, 8)}`;
  readonly #pty: IPty;
  readonly #screen: Terminal;
  readonly #watchers = new Set<(arrivedAt: number) => void>();
  #traffic = { bytes: 0, frames: 0 };
  #lastChunk = 0;

  /** Throws `usage` where there is no tmux. */
  constructor(command: readonly string[], size: { readonly columns: number; readonly rows: number }) {
    requireTmux();
    this.#screen = new xterm.Terminal({ cols: size.columns, rows: size.rows, allowProposedApi: true });
    const line = command.map((word) => `'${word}'`).join(' ');
    const args = [
      '-L',
      this.#server,
      '-f',
      '/dev/null',
      'new-session',
      '-x',
      String(size.columns),
      '-y',
      String(size.rows),
    ];
    const settings = [';', 'set', '-s', 'escape-time', '0', ';', 'set', '-g', 'status', 'off'];
    this.#pty = spawn('tmux', [...args, line, ...settings], {
      name: 'xterm-256color',
      cols: size.columns,
      rows: size.rows,
      env: { ...process.env, LANG: 'C.UTF-8', TMUX: '' },
    });
    this.#pty.onData((data) => {
      const now = performance.now();
      this.#traffic.bytes += Buffer.byteLength(data);
      if (now - this.#lastChunk > SAME_FRAME_MS) this.#traffic.frames++;
      this.#lastChunk = now;
      this.#screen.write(data, () => {
        for (const watcher of this.#watchers) watcher(now);
      });
    });
  }

  get rows(): string[] {
    const { active } = this.#screen.buffer;
    return Array.from({ length: this.#screen.rows }, (_, row) =>
      (active.getLine(active.baseY + row)?.translateToString(true) ?? '').trimEnd(),
    );
  }

  /** What came since the last call. */
  takeTraffic(): Traffic {
    const traffic = this.#traffic;
    this.#traffic = { bytes: 0, frames: 0 };
    return traffic;
  }

  type(text: string): void {
    this.#pty.write(text);
  }

  /**
   * When the bytes arrived with which the screen became as wanted, ms of `performance.now()`: what the user's own terminal
   * takes to draw them is not counted. Throws `usage` with the screen when it does not within `limitMs`.
   */
  async until(holds: (rows: readonly string[]) => boolean, limitMs: number): Promise<number> {
    return await new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#watchers.delete(look);
        reject(
          new LabError('usage', { message: `waited ${limitMs} ms for the screen:\n${this.rows.join('\n')}` }),
        );
      }, limitMs);
      const look = (arrivedAt: number): void => {
        if (!holds(this.rows)) return;
        clearTimeout(timer);
        this.#watchers.delete(look);
        resolve(arrivedAt);
      };
      this.#watchers.add(look);
      look(performance.now());
    });
  }

  close(): void {
    try {
      execFileSync('tmux', ['-L', this.#server, 'kill-server'], { stdio: 'ignore' });
    } catch {
      // The program has ended, and the server with it.
    }
    this.#pty.kill('SIGKILL');
    this.#screen.dispose();
  }
}

function requireTmux(): void {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' });
  } catch {
    throw new LabError('usage', {
      message: 'this benchmark measures inside tmux, and there is none',
      hint: 'install tmux, for one with: apt-get install tmux',
    });
  }
}
