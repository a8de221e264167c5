/**
 * A bounded cache that keeps what was used lately: when the young generation is full it becomes the old one, and the old
 * one goes. Holds at most twice `limit` entries.
 */
export class RecentMap<Value> {
  readonly #limit: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: string): Value | undefined {
    const value = this.#young.get(key);
    if (value !== undefined) return value;
    const old = this.#old.get(key);
    return old === undefined ? undefined : this.set(key, old);
  }

  /** Remembers and returns the value. */
  set(key: string, value: Value): Value {
    if (this.#young.size >= this.#limit) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
    return value;
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
  }
}
