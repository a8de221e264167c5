import { type KeyContext, type Screen } from './key-binding.ts';
import { ACTION_NAMES, type ActionName, bindingOf, disabledReason } from './keymap.ts';
import { type EditedLine, editLine, insertText, lineOf } from './line-editor.ts';
import { ListCursor } from './list-cursor.ts';

/** A command that the palette offers. */
export interface PaletteChoice {
  readonly name: ActionName;
  readonly label: string;
  readonly description: string;
  readonly keys: readonly string[];
  /** Why it does nothing just now. */
  readonly disabled: string | null;
}

/** What moves a pointer or is typed makes no sense as a command. */
const NOT_OFFERED: ReadonlySet<ActionName> = new Set(['down', 'up', 'pageDown', 'pageUp', 'palette']);
/** Rows that the pointer keeps in sight. */
const WINDOW = 10;

/** The commands of the screen below, found by typing parts of their names. */
export class Palette {
  readonly cursor = new ListCursor();
  readonly #all: readonly PaletteChoice[];
  readonly #setting: PaletteChoice;
  #line = lineOf('');

  constructor(of: Screen, context: KeyContext) {
    const screen = of === 'knob' ? 'overview' : of;
    this.#all = ACTION_NAMES.filter(
      (name) => !NOT_OFFERED.has(name) && bindingOf(name).screens.includes(screen),
    ).map((name) => choiceOf(name, context));
    this.#setting = choiceOf('setKnob', context);
  }

  get line(): EditedLine {
    return this.#line;
  }

  /** What `set` is followed by, where that may be values of knobs: `clip 0.1` of `set clip 0.1`. */
  get assignment(): string | null {
    return /^set\s+(.*[\d=].*)$/u.exec(this.#line.text.trimStart())?.[1] ?? null;
  }

  /** Those that hold every typed word; those whose label does come first. */
  get choices(): readonly PaletteChoice[] {
    if (this.assignment !== null) return [this.#setting];
    const words = this.#line.text
      .toLowerCase()
      .split(' ')
      .filter((word) => word !== '');
    const holds = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
    const found = this.#all.filter(({ label, description }) => holds(`${label} ${description}`));
    return found.toSorted((a, b) => Number(holds(b.label)) - Number(holds(a.label)));
  }

  get selected(): PaletteChoice | null {
    return this.choices[this.cursor.selected] ?? null;
  }

  type(key: string): void {
    const line = editLine(this.#line, key);
    if (line !== null) this.#edit(line);
  }

  /** Puts a text in where the cursor is. */
  insert(text: string): void {
    this.#edit(insertText(this.#line, text));
  }

  #edit(line: EditedLine): void {
    if (line.text !== this.#line.text) this.cursor.reset();
    this.#line = line;
  }

  move(by: number): void {
    this.cursor.move(by, this.choices.length, WINDOW);
  }
}

function choiceOf(name: ActionName, context: KeyContext): PaletteChoice {
  const { label, description, keys } = bindingOf(name);
  return { name, label, description, keys, disabled: disabledReason(name, context) };
}
