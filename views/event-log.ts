import type { KnobChange, RunEvent } from '../src/domain/run.ts';
import type { RunReader } from '../src/store/queries.ts';
import { isSame } from './alarms.ts';
import { ListCursor } from './list-cursor.ts';

/** Events that can be scrolled through: the newest. */
const MOST = 5000;
/** Events that are looked at for what is new: those of a look before that are among them need not be read again. */
const LOOK = 50;

/** Every event and turned knob of the open run, newest first; the pointer stays on its event when others come in. */
export class EventLog {
  readonly cursor = new ListCursor();
  #all: readonly RunEvent[] = [];
  /** Of the run, without turned knobs. */
  #read: readonly RunEvent[] = [];
  #shown: readonly RunEvent[] = [];
  #filter = '';

  /** Those that the filter matches. */
  get events(): readonly RunEvent[] {
    return this.#shown;
  }

  get total(): number {
    return this.#all.length;
  }

  get filterText(): string {
    return this.#filter;
  }

  /** The event that the pointer is on. */
  get selected(): RunEvent | null {
    return this.#shown[this.cursor.selected] ?? null;
  }

  /** Reads what is new. `height` is that of the window. */
  refresh(reader: Pick<RunReader, 'events'>, changes: readonly KnobChange[], height: number): void {
    const before = this.selected;
    const turned = changes.map(knobEvent);
    this.#read = newest(reader, this.#read);
    this.#all = [...this.#read, ...turned].toSorted((a, b) => b.time - a.time);
    this.#apply();
    // Following, the newest is in front; else what the user looks at keeps its place.
    const moved = this.cursor.selected === 0 || before === null ? -1 : this.#find(before);
    this.cursor.move(moved < 0 ? 0 : moved - this.cursor.selected, this.#shown.length, height);
  }

  /**
   * Shows the events that hold every word, in any of their fields, and none that begins with `-`. `level:`, `kind:`, `about:` and
   * `who:` before a word look into that field alone.
   */
  filterBy(text: string): void {
    this.#filter = text.trim();
    this.cursor.reset();
    this.#apply();
  }

  clear(): void {
    this.#all = [];
    this.#read = [];
    this.filterBy('');
  }

  #apply(): void {
    const words = this.#filter
      .toLowerCase()
      .split(/\s+/u)
      .filter((word) => word !== '' && word !== '-');
    this.#shown = words.length === 0 ? this.#all : this.#all.filter((event) => matches(event, words));
  }

  #find({ time, kind, message }: RunEvent): number {
    return this.#shown.findIndex((one) => one.time === time && one.kind === kind && one.message === message);
  }
}

/** The newest MOST events: all are read at first, and when more have come than a look holds. */
function newest(reader: Pick<RunReader, 'events'>, before: readonly RunEvent[]): readonly RunEvent[] {
  const look = reader.events(LOOK);
  const fresh = look.findIndex((_, index) =>
    look.slice(index).every((event, place) => isSame(event, before[place])),
  );
  return fresh < 0 ? reader.events(MOST) : [...look.slice(0, fresh), ...before].slice(0, MOST);
}

/** The fields that a term can name. */
const FIELDS: Readonly<Record<string, (event: RunEvent) => string>> = {
  level: ({ level }) => level,
  kind: ({ kind }) => kind,
  about: ({ subject }) => subject,
  who: ({ who }) => who ?? '',
};

function matches(event: RunEvent, words: readonly string[]): boolean {
  return words.every((word) => (word.startsWith('-') ? !holds(event, word.slice(1)) : holds(event, word)));
}

function holds(event: RunEvent, word: string): boolean {
  const colon = word.indexOf(':');
  const field = colon < 0 ? undefined : FIELDS[word.slice(0, colon)];
  if (field !== undefined)
    return field(event)
      .toLowerCase()
      .includes(word.slice(colon + 1));
  const { level, kind, subject, message, episodes, who } = event;
  return [level, kind, subject, message, ...episodes, who ?? ''].join(' ').toLowerCase().includes(word);
}

function knobEvent({ time, who, knob, from, to, iteration, minibatch, undo }: KnobChange): RunEvent {
  const what = `${knob} ${from} → ${to}`;
  const message = `${undo ? 'undone: ' : ''}${what} from iteration ${iteration}, minibatch ${minibatch}`;
  return { time, level: 'info', kind: 'knob', subject: who, message, episodes: [], who };
}
