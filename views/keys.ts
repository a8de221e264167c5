import { PASTE_END, PASTE_START, type Paste, PasteReader } from './paste.ts';

/** Name of a pressed key: a printable character as itself, `space`, or one of the names below. */
export type KeyName = string;

/** What the mouse did: a click on a row of the screen, the first is 0; or the wheel, 1 is down. */
export type MouseReport =
  | { readonly kind: 'click'; readonly row: number }
  | { readonly kind: 'wheel'; readonly by: 1 | -1 };

const SEQUENCES: Readonly<Record<string, KeyName>> = {
  '[A': 'up',
  '[B': 'down',
  '[C': 'right',
  '[D': 'left',
  '[H': 'home',
  '[F': 'end',
  '[1~': 'home',
  '[4~': 'end',
  '[7~': 'home',
  '[8~': 'end',
  '[3~': 'delete',
  '[5~': 'pgup',
  '[6~': 'pgdn',
  '[Z': 'shift-tab',
  '[1;5C': 'ctrl-right',
  '[1;5D': 'ctrl-left',
  '[1;3C': 'ctrl-right',
  '[1;3D': 'ctrl-left',
};

const CONTROLS: Readonly<Record<string, KeyName>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  ' ': 'space',
  '\u001B': 'escape',
  '\u007F': 'backspace',
  '\b': 'backspace',
};

// CSI: parameters, intermediates, final byte (ECMA-48 §5.4). SS3 (`ESC O x`) is what application cursor mode sends.
// oxlint-disable-next-line no-control-regex -- terminals send control characters
const COMPLETE = /^\u001B(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[^[O\u001B])/u;
// oxlint-disable-next-line no-control-regex -- terminals send control characters
const UNFINISHED = /^\u001B(?:\[[0-?]*[ -/]*|O)?$/u;

// Button, column, row, from 1 each; `M` is a press, `m` a release (xterm's mode 1006).
const MOUSE = /^\[<(\d+);\d+;(\d+)M$/u;
const WHEEL: Readonly<Record<string, 1 | -1>> = { '64': -1, '65': 1 };

/** Ms after which an Escape that nothing follows is the Escape key; terminals send a sequence in one go. */
const ESCAPE_MS = 25;
/** Ms after which a paste that does not go on has lost its end. Over a bad link its parts may be some way apart. */
const PASTE_MS = 1000;
/** Nobody types so many characters between two reads: after a paste that was given up they are more of it. */
const LATE_PASTE = 32;

/** Turns what the terminal sends into key names and pasted texts; a sequence may be spread over several reads. */
export class KeyDecoder {
  #rest = '';
  #paste: PasteReader | null = null;
  /** The newest paste was given up: more of it may still come. */
  #wasCut = false;
  readonly #onMouse: (report: MouseReport) => void;

  /** Reports of the mouse go to `onMouse`, in their order among the chunk's keys or before them. */
  constructor(onMouse: (report: MouseReport) => void = () => undefined) {
    this.#onMouse = onMouse;
  }

  /** The keys and pastes that are complete with this chunk. Several keys in one read are several keys. */
  push(chunk: string): (KeyName | Paste)[] {
    if (this.#wasCut && this.#paste === null) {
      this.#wasCut = chunk.length > LATE_PASTE || chunk.includes(PASTE_END);
      if (this.#wasCut) this.#paste = new PasteReader();
    }
    let text = this.#rest + chunk;
    this.#rest = '';
    const typed: (KeyName | Paste)[] = [];
    while (text !== '') {
      if (this.#paste === null && UNFINISHED.test(text)) {
        this.#rest = text;
        break;
      }
      text = this.#paste === null ? this.#takeKey(text, typed) : this.#takePaste(this.#paste, text, typed);
    }
    return typed;
  }

  /** Takes one key, report or mark; returns what follows it. */
  #takeKey(text: string, typed: (KeyName | Paste)[]): string {
    const sequence = COMPLETE.exec(text)?.[0];
    const taken = sequence ?? String.fromCodePoint(text.codePointAt(0) ?? 0);
    const report = sequence === undefined ? null : mouseReport(sequence.slice(1));
    if (report !== null) this.#onMouse(report);
    else if (sequence?.slice(1) === PASTE_START) this.#paste = new PasteReader();
    else typed.push(...(sequence === undefined ? characterKey(taken) : sequenceKeys(sequence)));
    return text.slice(taken.length);
  }

  /** Takes what belongs to a paste; returns what follows it, nothing while it goes on. */
  #takePaste(paste: PasteReader, text: string, typed: (KeyName | Paste)[]): string {
    const rest = paste.take(text);
    if (rest === null) return '';
    typed.push(paste.paste(this.#wasCut));
    this.#paste = null;
    this.#wasCut = false;
    return rest;
  }

  /**
   * Ms after which what waits is to be flushed, because nothing followed: what may be the Escape key or the start of a sequence, or
   * a paste without its end. Null: nothing waits.
   */
  get patienceMs(): number | null {
    if (this.#paste !== null) return PASTE_MS;
    return this.#rest === '' ? null : ESCAPE_MS;
  }

  /** Nothing followed: what waits was the Escape key (and what was typed after it), or all there is of a paste. */
  flush(): (KeyName | Paste)[] {
    if (this.#paste !== null) {
      const paste = this.#paste.paste(true);
      this.#paste = null;
      this.#wasCut = true;
      return [paste];
    }
    const rest = this.#rest;
    this.#rest = '';
    return rest === '' ? [] : ['escape', ...Array.from(rest.slice(1)).flatMap(characterKey)];
  }
}

function characterKey(character: string): KeyName[] {
  const named = CONTROLS[character];
  if (named !== undefined) return [named];
  const code = character.codePointAt(0) ?? 0;
  if (code >= 1 && code <= 26) return [`ctrl-${String.fromCodePoint(code + 96)}`];
  return code < 32 ? [] : [character];
}

/** Null for what is no report of the mouse, or of a button that means nothing here. */
function mouseReport(body: string): MouseReport | null {
  const [, button = '', row = ''] = MOUSE.exec(body) ?? [];
  const by = WHEEL[button];
  if (by !== undefined) return { kind: 'wheel', by };
  return button === '0' ? { kind: 'click', row: Number(row) - 1 } : null;
}

/** Sequences that mean nothing here (focus reports, function keys, other buttons of the mouse) are swallowed. */
function sequenceKeys(sequence: string): KeyName[] {
  const body = sequence.slice(1).replace(/^O(?=[A-H])/u, '[');
  const known = SEQUENCES[body];
  if (known !== undefined) return [known];
  // `ESC x`: Escape and a key in one read, or Alt with a key; both mean Escape, then the key.
  return /^[[O]/u.test(body) ? [] : ['escape', ...characterKey(body)];
}
