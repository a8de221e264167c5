import type { EditedLine } from './line-editor.ts';
import { ListCursor } from './list-cursor.ts';

/** One thing that may be chosen. */
export interface MenuItem {
  readonly label: string;
  readonly meaning: string;
  /** Whether it is on, where choosing switches it. */
  readonly checked?: boolean;
}

/** Some things of which one is chosen; of those with a check, any number is switched before the menu is left. */
export class Menu {
  readonly cursor = new ListCursor();
  readonly title: string;
  readonly #items: () => readonly MenuItem[];
  readonly #onChoose: (index: number) => void;
  /** It stays when something was chosen. */
  readonly stays: boolean;

  constructor(menu: {
    readonly title: string;
    readonly items: () => readonly MenuItem[];
    readonly onChoose: (index: number) => void;
    readonly stays?: boolean;
  }) {
    this.title = menu.title;
    this.#items = menu.items;
    this.#onChoose = menu.onChoose;
    this.stays = menu.stays === true;
  }

  get items(): readonly MenuItem[] {
    return this.#items();
  }

  choose(): void {
    if (this.cursor.selected < this.items.length) this.#onChoose(this.cursor.selected);
  }
}

/** A line that is asked for. */
export interface Prompt extends EditedLine {
  /** What is wanted, as `note on e12`. */
  readonly label: string;
  /** Why what was typed was refused. */
  readonly problem: string | null;
  /** Throws to refuse, and to say why. */
  readonly onAccept: (text: string) => void;
}
