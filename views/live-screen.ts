import { pressKey } from './actions.ts';
import { Kept } from './kept.ts';
import { Keyboard, type KeyInput } from './keyboard.ts';
import type { Look } from './look.ts';
import { MOUSE_OFF, MOUSE_ON, Mouse } from './mouse.ts';
import { paintLine } from './row.ts';
import { drawScreen } from './screen.ts';
import { ScreenWriter } from './screen-writer.ts';
import type { Session } from './session.ts';

/** The alternate screen (mode 1049), rows that are cut and not wrapped (DECAWM), no cursor (DECTCEM). */
const ENTER = '\u001B[?1049h\u001B[?7l\u001B[?25l';
const LEAVE = '\u001B[?25h\u001B[?7h\u001B[?1049l';
/** Ms between two frames of new data at least. Keys do not wait for it, and what they lead to does not either. */
const DATA_FRAME_MS = 33;
/** Size of a terminal that does not tell. */
const UNKNOWN = { columns: 80, rows: 24 } as const;

/** As much of a terminal's output as is used here. */
export type ScreenOutput = Pick<NodeJS.WriteStream, 'columns' | 'rows' | 'on' | 'off' | 'write'>;

/** The session on a terminal: keys in, frames out, from `enter` until it is closed. */
export class LiveScreen {
  readonly #session: Session;
  readonly #look: Look;
  readonly #output: ScreenOutput;
  readonly #hasMouse: boolean;
  readonly #keyboard: Keyboard;
  readonly #writer = new ScreenWriter();
  /** The same object while it says the same: rows are kept by it. */
  readonly #themed = new Kept<Look>();
  readonly #unsubscribe: () => void;
  /** Of the session, when it was drawn last. */
  #version = -1;
  #dataDrawnAt = -Infinity;
  #waiting: NodeJS.Timeout | null = null;
  #closed = false;

  /** With `hasMouse` clicks and the wheel are asked for. */
  constructor(
    session: Session,
    look: Look,
    { input, output, hasMouse }: { input: KeyInput; output: ScreenOutput; hasMouse: boolean },
  ) {
    this.#session = session;
    this.#look = look;
    this.#output = output;
    this.#hasMouse = hasMouse;
    const mouse = new Mouse(session);
    // Before the first frame: a key that is pressed before would be echoed into it.
    this.#keyboard = new Keyboard(input, {
      onKey: (key) => pressKey(session, key, look),
      onMouse: (report) => mouse.take(report, look, Date.now()),
      onRead: () => this.#draw(),
    });
    this.#unsubscribe = session.subscribe(() => this.#drawSoon());
    output.on('resize', this.#resize);
  }

  /** Takes the screen and draws: at first, and when the program was stopped and others have used the terminal since. */
  enter(): void {
    this.#keyboard.takeKeys();
    this.#output.write(this.#hasMouse ? ENTER + MOUSE_ON : ENTER);
    this.#writer.forget();
    this.#version = -1;
    this.#resize();
  }

  /** Gives the terminal back as it was. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#waiting !== null) clearTimeout(this.#waiting);
    this.#unsubscribe();
    this.#output.off('resize', this.#resize);
    this.#output.write(this.#hasMouse ? MOUSE_OFF + LEAVE : LEAVE);
    this.#keyboard.close();
  }

  readonly #resize = (): void => {
    const { columns, rows } = this.#output;
    this.#session.resize({ columns: columns || UNKNOWN.columns, rows: rows || UNKNOWN.rows });
    this.#draw();
  };

  /** What changes together is drawn together. */
  #drawSoon(): void {
    if (this.#waiting !== null || this.#closed) return;
    const wait = Math.max(0, this.#dataDrawnAt + DATA_FRAME_MS - performance.now());
    this.#waiting = setTimeout(() => {
      this.#dataDrawnAt = performance.now();
      this.#draw();
    }, wait);
  }

  #draw(): void {
    if (this.#waiting !== null) clearTimeout(this.#waiting);
    this.#waiting = null;
    const session = this.#session;
    if (this.#closed || session.version === this.#version) return;
    this.#version = session.version;
    const look = this.#themed.get([session.theme], () => session.themed(this.#look));
    const rows = drawScreen(session, look).map((line) => paintLine(line, session.size.columns, look));
    const frame = this.#writer.frame(rows, session.size);
    if (frame !== '') this.#output.write(frame);
  }
}
