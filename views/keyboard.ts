import { KeyDecoder, type KeyName, type MouseReport } from './keys.ts';

/** Ms after which an Escape that nothing follows is the Escape key; terminals send a sequence in one go. */
const ESCAPE_MS = 25;

/** Who is told what was typed. */
export interface KeyListener {
  /** A key; several that arrive together come one after the other. */
  readonly onKey: (key: KeyName) => void;
  readonly onMouse: (report: MouseReport) => void;
  /** All that arrived together has been told. */
  readonly onRead: () => void;
}

/** As much of a terminal's input as is used here. */
export type KeyInput = Pick<
  NodeJS.ReadStream,
  'on' | 'off' | 'setEncoding' | 'pause' | 'resume' | 'setRawMode'
>;

/** Reads keys from a terminal in raw mode, until it is closed. Over SSH a held key arrives as `jjj`: these are three. */
export class Keyboard {
  readonly #input: KeyInput;
  readonly #listener: KeyListener;
  readonly #decoder: KeyDecoder;
  #timer: NodeJS.Timeout | null = null;

  constructor(input: KeyInput, listener: KeyListener) {
    this.#input = input;
    this.#listener = listener;
    this.#decoder = new KeyDecoder(listener.onMouse);
    input.setEncoding('utf8');
    input.setRawMode(true);
    input.on('data', this.#receive);
    input.resume();
  }

  /** Turns raw mode on, also where somebody else has turned it off since. */
  takeKeys(): void {
    this.#input.setRawMode(false);
    this.#input.setRawMode(true);
  }

  /** Gives the input back: lines are edited and echoed again, and the process may end although the terminal is open. */
  close(): void {
    this.#stopWaiting();
    this.#input.off('data', this.#receive);
    this.#input.setRawMode(false);
    this.#input.pause();
  }

  readonly #receive = (chunk: Buffer | string): void => {
    this.#stopWaiting();
    this.#tell(this.#decoder.push(chunk.toString()));
    if (!this.#decoder.pending) return;
    this.#timer = setTimeout(() => this.#tell(this.#decoder.flush()), ESCAPE_MS);
  };

  #tell(keys: readonly KeyName[]): void {
    for (const key of keys) this.#listener.onKey(key);
    this.#listener.onRead();
  }

  #stopWaiting(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
