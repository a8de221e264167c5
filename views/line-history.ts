/** Lines that are kept of each kind. */
const MOST = 100;

/** Lines that were accepted, by kind, while the app is open; going back from a new line keeps what was typed of it. */
export class LineHistory {
  readonly #lines = new Map<string, string[]>();
  /** How far back the line in front is, 0 being the one that is typed, and that one. */
  #back = 0;
  #typed = '';

  /** Notes a line that was accepted. */
  add(kind: string, text: string): void {
    this.leave();
    if (text.trim() === '') return;
    const before = (this.#lines.get(kind) ?? []).filter((line) => line !== text);
    this.#lines.set(kind, [...before, text].slice(-MOST));
  }

  /** The line before (-1) or after (1) the one in front, whose text is given; null where there is none. */
  move(kind: string, by: 1 | -1, text: string): string | null {
    const lines = this.#lines.get(kind) ?? [];
    const back = this.#back - by;
    if (back < 0 || back > lines.length) return null;
    if (this.#back === 0) this.#typed = text;
    this.#back = back;
    return back === 0 ? this.#typed : (lines.at(-back) ?? null);
  }

  /** The line in front is done with. */
  leave(): void {
    this.#back = 0;
    this.#typed = '';
  }
}
