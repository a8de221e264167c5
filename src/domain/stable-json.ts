/**
 * JSON in which the keys of every object are in order, so that equal values have equal text. `indent` is as in
 * `JSON.stringify`. Throws what that throws: for a value that refers to itself, or holds a bigint.
 */
export function stableJson(value: unknown, indent?: number): string {
  // Nothing at all, a function and a symbol have no JSON of their own.
  return JSON.stringify(value, (_key, part: unknown) => ordered(part), indent) ?? 'null';
}

function ordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value);
  for (let i = 1; i < entries.length; i++) {
    const [before, after] = [entries[i - 1]?.[0] ?? '', entries[i]?.[0] ?? ''];
    if (before > after) return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
  return value;
}
