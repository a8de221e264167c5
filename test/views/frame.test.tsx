import { PassThrough } from 'node:stream';
import { type Instance, render } from 'ink';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Frame } from '../../views/frame.tsx';
import { Session } from '../../views/session.ts';
import { FakeRun } from './fake-run.ts';
import { BRAILLE } from './looks.ts';

/** A terminal that remembers the last frame. */
class TestTerminal extends PassThrough {
  readonly isTTY = true;
  columns = 80;
  rows = 24;
  frame = '';

  override write(chunk: unknown): boolean {
    this.frame = String(chunk);
    return true;
  }

  setRawMode(): this {
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
let keyboard: PassThrough;
let app: Instance;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 10, episodes: 20 });
  session = new Session(fake.sessionOptions);
  session.open('demo-1');
  screen = new TestTerminal();
  keyboard = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: () => null,
    ref: () => null,
    unref: () => null,
  });
  app = render(<Frame session={session} look={BRAILLE} />, {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as much of a terminal as Ink uses
    stdout: screen as unknown as NodeJS.WriteStream,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as much of a terminal as Ink uses
    stdin: keyboard as unknown as NodeJS.ReadStream,
    debug: true,
    exitOnCtrlC: false,
    patchConsole: false,
  });
  await shows('e20');
});

afterEach(async () => {
  app.unmount();
  session.close();
  await fake.remove();
});

async function shows(text: string): Promise<void> {
  while (!screen.frame.includes(text)) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('Frame', () => {
  it('draws one row of the terminal for each line', () => {
    expect(screen.frame.split('\n')).toHaveLength(24);
    expect(screen.frame).toContain('demo-1  RUNNING');
  });

  it('takes keys that arrive together one by one', async () => {
    keyboard.write('jjj');
    await shows('› e17');
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

  it('is drawn anew when the terminal changes its size', async () => {
    screen.columns = 120;
    screen.rows = 40;
    screen.emit('resize');
    await shows('split');
    expect(screen.frame.split('\n')).toHaveLength(40);
    screen.columns = 20;
    screen.rows = 5;
    screen.emit('resize');
    await shows('too small');
  });

  it('does not draw again while nothing on the screen changes', async () => {
    session.run?.close();
    session.changed();
    await new Promise((resolve) => setTimeout(resolve, 20));
    screen.frame = 'untouched';
    session.changed();
    session.changed();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(screen.frame).toBe('untouched');
  });
});
