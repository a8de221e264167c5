import { createInterface } from 'node:readline';
import { pressKey } from './actions.ts';
import type { Screen } from './key-binding.ts';
import { ACTION_NAMES, type ActionName, actionOf, bindingOf, disabledReason, keyText } from './keymap.ts';
import type { KeyName } from './keys.ts';
import { type Line, untrusted } from './line.ts';
import type { Look } from './look.ts';
import { drawScreen } from './screen.ts';
import type { Session } from './session.ts';

/** Everything is heard, so nothing is drawn. */
export const TOLD_LOOK: Look = { glyphs: 'ascii', colour: null, attributes: false, told: true };

/** Wide enough for what stands beside one another to be whole, and high enough for lists of some length. */
const SIZE = { columns: 160, rows: 40 } as const;
/** What a command has set going has come to its end when nothing has changed for so long, ms. */
const QUIET_MS = 150;
/** The longest wait for that. */
const SETTLED_MS = 3000;
const MOST_TIMES = 1000;
/** Screens whose figures change by themselves. */
const LIVE: ReadonlySet<Screen> = new Set(['overview', 'knob', 'hosts', 'pipeline', 'runs']);
const MOVES: ReadonlySet<ActionName> = new Set(['down', 'up', 'pageDown', 'pageUp', 'first', 'last']);
/** Screens where a move leads to another row, and says nothing more of it. */
const LISTS: ReadonlySet<Screen> = new Set([
  'overview',
  'episodes',
  'hosts',
  'runs',
  'compare',
  'pipeline',
  'menu',
  'fork',
]);
/** What a line is asked for on: it is taken as a whole, unless it is one of the few commands there. */
const ASKING: ReadonlySet<Screen> = new Set(['prompt', 'palette']);

const HELP = [
  'Type the name of a command, or its beginning, or its key, and Enter. A number after it repeats it: down 5.',
  'A line that is asked for is typed as it is to be; accept takes the one that stands there, leave none.',
  '/ and words filter the list. Enter alone reads the whole screen. screen reads it too. bye leaves.',
];

/**
 * The whole app without a screen: reads commands, one a line, and writes what changed on the screen that would be there. For
 * screen readers, and wherever a screen cannot be drawn. Resolves when the user leaves, or the input ends.
 */
export async function runLines(
  session: Session,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<void> {
  session.resize(SIZE);
  const reader = new Reader(session, (line) => output.write(`${line}\n`));
  const lines = createInterface({ input, output, terminal: false });
  // From now on: what is typed ahead, and an end of the input, would be missed while the screen settles.
  const typed = lines[Symbol.asyncIterator]();
  const leave = session.subscribe(() => {
    if (session.quitting) lines.close();
    else reader.announce();
  });
  await settled(session);
  reader.all();
  output.write('help lists the commands\n');
  output.write('> ');
  for await (const line of typed) {
    await reader.obey(line.trim());
    if (session.quitting) break;
    output.write('> ');
  }
  leave();
}

/** Knows what was read out, and says what is new. */
class Reader {
  readonly #session: Session;
  readonly #write: (line: string) => void;
  #front = '';
  #heard = new Set<string>();
  #toast: string | null = null;
  /** Time of the newest event that was said, or was there at first; null before any was seen. */
  #said: number | null = null;

  constructor(session: Session, write: (line: string) => void) {
    this.#session = session;
    this.#write = write;
  }

  /** Reads the whole screen. */
  all(): void {
    this.#heard.clear();
    this.#read();
  }

  /** Does what a line asks for, and reads what that changed. */
  async obey(line: string): Promise<void> {
    const session = this.#session;
    if (line === '' || line === 'screen') return this.all();
    if (line === 'bye') {
      session.quitting = true;
      return session.changed();
    }
    if (line === 'help' && session.help === null) return this.#help();
    let isMove = false;
    if (this.#isAnswer(line)) typeText(session, line);
    else if (line.startsWith('/')) typeLine(session, line.slice(1));
    else {
      const pressed = this.#press(line);
      if (pressed === null) return;
      isMove = MOVES.has(pressed);
    }
    if (session.quitting) return;
    await settled(session);
    this.#read(isMove);
  }

  /** Says what happened by itself. */
  announce(): void {
    const { toast, run } = this.#session;
    if (toast !== null && toast.text !== this.#toast) this.#write(toast.text);
    this.#toast = toast?.text ?? null;
    const events = run?.snapshot().events ?? [];
    this.#said ??= events[0]?.time ?? null;
    for (const { time, level, subject, message } of events.toReversed()) {
      if (time <= (this.#said ?? 0)) continue;
      this.#said = time;
      if (level !== 'info') this.#write(`${level}: ${untrusted(subject)}: ${untrusted(message)}`);
    }
  }

  /**
   * The rows that were not on the screen before; all of them where another screen has come to the front. After a move in a
   * list the row that is pointed at.
   */
  #read(isMove = false): void {
    const session = this.#session;
    const front = session.screen + session.front;
    if (front !== this.#front) this.#heard.clear();
    this.#front = front;
    const rows = spoken(drawScreen(session, TOLD_LOOK));
    const pointed = isMove && LISTS.has(session.front) ? rows.filter((row) => row.startsWith('>')) : [];
    const fresh = pointed.length > 0 ? pointed : rows.filter((row) => !this.#heard.has(this.#heardAs(row)));
    for (const row of fresh) this.#write(row);
    if (fresh.length === 0) this.#write('nothing has changed');
    this.#heard = new Set(rows.map((row) => this.#heardAs(row)));
  }

  /** Figures of a live screen change all the time: they are news only to who asks for the whole screen. */
  #heardAs(row: string): string {
    return LIVE.has(this.#session.front) && !row.startsWith('>') ? row.replaceAll(/[\d.]+/gu, '0') : row;
  }

  /** Presses the key of the command that a line names. Returns the command, or null when there is none. */
  #press(line: string): ActionName | null {
    const session = this.#session;
    const [, words = '', digits] = /^(.*?)(?:\s+(\d+))?$/u.exec(line) ?? [];
    const key = this.#keyOf(words);
    if (key === null) return null;
    const name = actionOf(session.front, key);
    const times = Math.min(MOST_TIMES, Number(digits ?? 1));
    for (let i = 0; i < times && !session.quitting; i++) pressKey(session, key, TOLD_LOOK);
    return name;
  }

  #keyOf(words: string): KeyName | null {
    const { front } = this.#session;
    const wanted = words.toLowerCase();
    // Messages and the footer call it so.
    const asKey = [words, wanted, wanted === 'esc' ? 'escape' : wanted].find(
      (key) => actionOf(front, key) !== null,
    );
    if (asKey !== undefined) return asKey;
    const offered = this.#offered();
    const named = offered.filter((name) => bindingOf(name).label.toLowerCase().startsWith(wanted));
    const exact = named.filter((name) => bindingOf(name).label.toLowerCase() === wanted);
    const [name, other] = exact.length > 0 ? exact : named;
    if (name === undefined || (other !== undefined && exact.length === 0)) {
      const like = named.map((one) => bindingOf(one).label).join(', ');
      this.#write(
        name === undefined ? `there is no command ${words} here; help lists them` : `which: ${like}?`,
      );
      return null;
    }
    return bindingOf(name).keys[0] ?? null;
  }

  #offered(): ActionName[] {
    const { front } = this.#session;
    return ACTION_NAMES.filter((name) => bindingOf(name).keys.some((key) => actionOf(front, key) === name));
  }

  #isAnswer(line: string): boolean {
    const { front } = this.#session;
    if (!ASKING.has(front) || actionOf(front, line.toLowerCase()) !== null) return false;
    return !this.#offered().some((name) => bindingOf(name).label === line.toLowerCase());
  }

  #help(): void {
    for (const line of HELP) this.#write(line);
    for (const name of this.#offered()) {
      const { label, description, keys } = bindingOf(name);
      const reason = disabledReason(name, this.#session.keyContext);
      const disabled = reason === null ? '' : ` (not now: ${reason})`;
      this.#write(`${label}: ${description}. Key ${keys.map(keyText).join(' or ')}${disabled}`);
    }
  }
}

/** Opens the line of the screen in front, types it, and takes it. */
function typeLine(session: Session, text: string): void {
  if (session.filterInput === null) pressKey(session, '/', TOLD_LOOK);
  if (session.filterInput === null) return;
  typeText(session, text);
  // One that is not right stays open on a screen; here it is said, and typed again as a whole.
  if (session.filterInput === null) return;
  const { problem } = session.filterInput;
  session.filterInput = null;
  session.say(problem.join(' ').replaceAll(/\s+/gu, ' '), 'bad');
}

/** Types over what stands in the line, and takes it. */
function typeText(session: Session, text: string): void {
  pressKey(session, 'ctrl-u', TOLD_LOOK);
  for (const character of text) pressKey(session, character === ' ' ? 'space' : character, TOLD_LOOK);
  pressKey(session, 'enter', TOLD_LOOK);
}

/** Rows without what only fills the screen: blanks, rules, the keys at the end. */
function spoken(lines: readonly Line[]): string[] {
  return lines
    .slice(0, -1)
    .map((line) => line.map(({ text }) => text).join(''))
    .map((text) => text.trim().replaceAll(/ {2,}/gu, ', '))
    .filter((text) => /[\p{L}\p{N}]/u.test(text));
}

/** Resolves when nothing has changed for a moment, or after a few seconds. */
async function settled(session: Session): Promise<void> {
  const until = Date.now() + SETTLED_MS;
  for (let version = -1; version !== session.version && Date.now() < until; ) {
    version = session.version;
    await new Promise((resolve) => {
      setTimeout(resolve, QUIET_MS);
    });
  }
}
