/** JSON with the keys of every object in order, so that equal values have equal texts. Throws as JSON.stringify does. */
export function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => (isPlain(inner) ? sorted(inner) : inner)) ?? 'null';
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sorted(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
