/**
 * What was made last, for as long as it is asked for with the same ingredients (each compared by `===`). Screens are drawn at every key;
 * most of what is on them changes with the data only, a few times a second.
 */
export class Kept<T> {
  #of: readonly unknown[] = [];
  #made: { readonly value: T } | null = null;

  /** `of` is all that `make` depends on. */
  get(of: readonly unknown[], make: () => T): T {
    if (this.#made !== null && isEach(this.#of, of)) return this.#made.value;
    const value = make();
    this.#of = of;
    this.#made = { value };
    return value;
  }
}

/** The same by object, forgotten with the object. */
export class KeptBy<K extends object, T> {
  readonly #kept = new WeakMap<K, Kept<T>>();

  get(key: K, of: readonly unknown[], make: () => T): T {
    let kept = this.#kept.get(key);
    if (kept === undefined) {
      kept = new Kept();
      this.#kept.set(key, kept);
    }
    return kept.get(of, make);
  }
}

function isEach(before: readonly unknown[], now: readonly unknown[]): boolean {
  return before.length === now.length && before.every((one, index) => one === now[index]);
}
