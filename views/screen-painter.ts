import type { Size } from './layout.ts';
import { MOUSE_OFF, MOUSE_ON } from './mouse.ts';
import { PASTE_OFF, PASTE_ON } from './paste.ts';
import type { Row } from './row.ts';
import { ScreenWriter } from './screen-writer.ts';

/** The alternate screen (mode 1049), rows that are cut and not wrapped (DECAWM), no cursor (DECTCEM). */
const ENTER = `\u001B[?1049h\u001B[?7l\u001B[?25l${PASTE_ON}`;
const LEAVE = `${PASTE_OFF}\u001B[?25h\u001B[?7h\u001B[?1049l`;

/** The rows of a frame, and the size of the terminal that they were made for. */
export interface Picture {
  readonly rows: readonly Row[];
  readonly size: Size;
}

/** The alternate screen of a terminal, from `enter` to `leave`, and what is to be seen on it. */
export class ScreenPainter {
  readonly #output: Pick<NodeJS.WriteStream, 'write'>;
  readonly #hasMouse: boolean;
  readonly #writer = new ScreenWriter();
  #picture: Picture | null = null;

  /** With `hasMouse` clicks and the wheel are asked for. */
  constructor(output: Pick<NodeJS.WriteStream, 'write'>, hasMouse: boolean) {
    this.#output = output;
    this.#hasMouse = hasMouse;
  }

  /** Takes the screen, at first and when somebody else has had it since, and shows on it what was to be seen. */
  enter(): void {
    this.#output.write(this.#hasMouse ? ENTER + MOUSE_ON : ENTER);
    this.#writer.forget();
    if (this.#picture !== null) this.paint(this.#picture);
  }

  /** Makes the terminal show it; writes what differs from the picture before. */
  paint(picture: Picture): void {
    this.#picture = picture;
    const bytes = this.#writer.frame(picture.rows, picture.size);
    if (bytes !== '') this.#output.write(bytes);
  }

  /** Gives the terminal back as it was. */
  leave(): void {
    this.#output.write(this.#hasMouse ? MOUSE_OFF + LEAVE : LEAVE);
  }
}
