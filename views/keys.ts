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

/** Turns what the terminal sends into key names; a sequence may be spread over several reads. */
export class KeyDecoder {
  #rest = '';
  readonly #onMouse: (report: MouseReport) => void;

  /** Reports of the mouse go to `onMouse`, in their order among the chunk's keys or before them. */
  constructor(onMouse: (report: MouseReport) => void = () => undefined) {
    this.#onMouse = onMouse;
  }

  /** The keys that are complete with this chunk. Several in one read are several keys. */
  push(chunk: string): KeyName[] {
    let text = this.#rest + chunk;
    this.#rest = '';
    const keys: KeyName[] = [];
    while (text !== '') {
      if (UNFINISHED.test(text)) {
        this.#rest = text;
        break;
      }
      const sequence = COMPLETE.exec(text)?.[0];
      const taken = sequence ?? String.fromCodePoint(text.codePointAt(0) ?? 0);
      const report = sequence === undefined ? null : mouseReport(sequence.slice(1));
      if (report !== null) this.#onMouse(report);
      else keys.push(...(sequence === undefined ? characterKey(taken) : sequenceKeys(sequence)));
      text = text.slice(taken.length);
    }
    return keys;
  }

  /** Whether something waits that may be the Escape key or the start of a sequence. */
  get pending(): boolean {
    return this.#rest !== '';
  }

  /** Nothing followed: what waits was the Escape key (and what was typed after it). */
  flush(): KeyName[] {
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
