import type { TextMatches } from './columns/match.ts';
import { openTextIndex, type TextIndex } from './text-index.ts';

const NOTHING = new Uint32Array(0);

/** The text index of a run, opened when it is first asked: a run that has just begun, or is without one, matches nothing. */
export class RunText implements TextMatches {
  readonly #path: string;
  #index: TextIndex | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  get indexedEpisodes(): number {
    return this.#opened()?.indexedEpisodes ?? 0;
  }

  match(text: string): Uint32Array {
    return this.#opened()?.match(text) ?? NOTHING;
  }

  close(): void {
    this.#index?.close();
    this.#index = null;
  }

  #opened(): TextIndex | null {
    this.#index ??= openTextIndex(this.#path);
    return this.#index;
  }
}
