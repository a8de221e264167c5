/** The keys of a constant table, in order, with their literal types. */
export function keysOf<Table extends object>(table: Table): readonly (keyof Table & string)[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one place where keys of a closed table get their type back
  return Object.keys(table) as (keyof Table & string)[];
}

/** A record with one value for each name. */
export function recordOf<Name extends string, Value>(
  names: readonly Name[],
  value: (name: Name) => Value,
): Record<Name, Value> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every name is given a value right here
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<Name, Value>;
}

/** Whether a value is an object and no list: what plain data have fields in. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
