import { PassThrough } from 'node:stream';
import { Terminal } from '@xterm/headless';
import { type Instance, render } from 'ink';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Frame } from '../../views/frame.tsx';
import { ScreenPainter } from '../../views/screen-painter.ts';
import { Session } from '../../views/session.ts';
import { FakeRun } from './fake-run.ts';
import { BRAILLE } from './looks.ts';

/** A terminal: what is written to it, and the screen that this makes. */
class TestTerminal extends PassThrough {
  columns = 80;
  rows = 24;
  written = '';
  readonly emulator = new Terminal({ cols: 80, rows: 24, allowProposedApi: true });

  override write(chunk: unknown): boolean {
    this.written += String(chunk);
    this.emulator.write(String(chunk));
    return true;
  }

  get text(): string {
    const { active } = this.emulator.buffer;
    return Array.from(
      { length: this.rows },
      (_, row) => active.getLine(row)?.translateToString(true) ?? '',
    ).join('\n');
  }

  resizeTo(columns: number, rows: number): void {
    this.columns = columns;
    this.rows = rows;
    this.emulator.resize(columns, rows);
    this.emit('resize');
  }
}

/** A keyboard that knows whether it is in raw mode. */
class TestKeyboard extends PassThrough {
  readonly isTTY = true;
  raw = false;

  setRawMode(raw: boolean): this {
    this.raw = raw;
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

let fake: FakeRun;
let session: Session;
let screen: TestTerminal;
let keyboard: TestKeyboard;
let painter: ScreenPainter;
let app: Instance;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 10, episodes: 20 });
  session = new Session(fake.sessionOptions);
  session.open('demo-1');
  screen = new TestTerminal();
  keyboard = new TestKeyboard();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as much of a terminal as is used
  const input = keyboard as unknown as NodeJS.ReadStream;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as much of a terminal as is used
  const output = screen as unknown as NodeJS.WriteStream;
  painter = new ScreenPainter(output, true);
  app = render(<Frame session={session} look={BRAILLE} painter={painter} />, {
    stdin: input,
    stdout: output,
    exitOnCtrlC: false,
    patchConsole: false,
  });
  await shows('e20');
});

afterEach(async () => {
  app.unmount();
  session.close();
  screen.emulator.dispose();
  await fake.remove();
});

async function shows(text: string): Promise<void> {
  while (!screen.text.includes(text)) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** The run says nothing any more, and what it has said is drawn. */
async function silence(): Promise<void> {
  session.run?.close();
  do {
    screen.written = '';
    await new Promise((resolve) => setTimeout(resolve, 100));
  } while (screen.written !== '');
}

describe('Frame', () => {
  it('draws one row of the terminal for each line', () => {
    expect(screen.text.split('\n')[0]).toContain('demo-1  RUNNING');
    expect(screen.emulator.buffer.active.type).toBe('alternate');
  });

  it('draws what a key does before it does anything else', async () => {
    screen.written = '';
    keyboard.emit('data', 'j');
    // React's own turn.
    await new Promise((resolve) => setImmediate(resolve));
    expect(screen.written).toContain('›');
  });

  it('takes keys that arrive together one by one, and draws them once', async () => {
    await silence();
    keyboard.write('jjj');
    await shows('› e17');
    expect(screen.written.split('\u001B[?2026h')).toHaveLength(2);
    keyboard.write('\u001B[A\u001B[A');
    await shows('› e19');
    expect(session.list.view.selected).toBe(1);
  });

  it('takes Escape although it could begin a sequence', async () => {
    keyboard.write('?');
    await shows('keys: overview');
    keyboard.write('\u001B');
    await shows('demo-1  RUNNING');
    expect(session.help).toBeNull();
  });

  it('takes the wheel', async () => {
    keyboard.write('\u001B[<65;10;10M');
    await shows('› e17');
    expect(session.list.view.selected).toBe(3);
  });

  it('is drawn anew when the terminal changes its size', async () => {
    screen.resizeTo(120, 40);
    await shows('split');
    screen.resizeTo(20, 5);
    await shows('too small');
    expect(screen.text).not.toContain('demo-1');
  });

  it('does not draw again while nothing on the screen changes', async () => {
    // What the screen still reads may come at any time: one quiet time is enough.
    do {
      await silence();
      session.changed();
      session.changed();
      await new Promise((resolve) => setTimeout(resolve, 100));
    } while (screen.written !== '');
    expect(screen.text).toContain('demo-1  RUNNING');
  });

  it('draws changes that come together once', async () => {
    await silence();
    session.say('one');
    session.say('two');
    session.say('three');
    await shows('three');
    expect(screen.written.split('\u001B[?2026h')).toHaveLength(2);
  });

  it('takes the terminal again after something else has used it', async () => {
    await new Promise((resolve) =>
      screen.emulator.write('\u001B[?1049l\u001B[2J\u001B[?25h', () => resolve(null)),
    );
    painter.enter();
    await shows('demo-1  RUNNING');
    expect(screen.emulator.buffer.active.type).toBe('alternate');
  });

  it('gives the terminal back as it was', async () => {
    expect(keyboard.raw).toBe(true);
    app.unmount();
    await shows('');
    expect(keyboard.raw).toBe(false);
    expect(keyboard.isPaused()).toBe(true);
    // oxlint-disable-next-line no-control-regex -- terminals are sent control characters
    const modes = [...screen.written.matchAll(/\u001B\[\?(\d+)([hl])/gu)].map(([, mode, set]) => [mode, set]);
    expect(Object.fromEntries(modes)).toMatchObject({
      '1049': 'l',
      '25': 'h',
      '7': 'h',
      '1000': 'l',
      '1006': 'l',
      '2026': 'l',
    });
    screen.written = '';
    session.changed();
    app.unmount();
    screen.emit('resize');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(screen.written).toBe('');
  });
});
