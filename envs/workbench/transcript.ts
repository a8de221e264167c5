const TURNS = 5;

/**
 * The lines that an agent sees: the task, the screen, and the last turns, oldest first, cut to a number of characters by
 * dropping the oldest turns.
 */
export class Transcript {
  readonly #characters: number;
  readonly #taskLine: string;
  #screen: string;
  #turns: string[] = [];
  #turnCharacters = 0;

  constructor(task: string, screen: string, characters: number) {
    this.#characters = characters;
    this.#taskLine = `task ${task}`;
    this.#screen = screen;
  }

  /** Shows another screen. */
  show(screen: string): void {
    this.#screen = screen;
  }

  /** Adds the newest turn. */
  add(turn: string): void {
    this.#turns.push(turn);
    this.#turnCharacters += turn.length;
    if (this.#turns.length > TURNS) this.#dropOldest();
  }

  /** Whether a turn can be read right now. */
  isVisible(turn: string): boolean {
    return this.#turns.includes(turn);
  }

  /** The lines to show now. */
  lines(): readonly string[] {
    const room = this.#characters - this.#taskLine.length - this.#screen.length;
    while (this.#turnCharacters > room && this.#turns.length > 0) this.#dropOldest();
    return [this.#taskLine, this.#screen, ...this.#turns];
  }

  #dropOldest(): void {
    this.#turnCharacters -= this.#turns.shift()?.length ?? 0;
  }
}
