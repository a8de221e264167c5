/**
 * Asks `next` for something for each place in `room`, until it has none for it; gives what each got. Places take turns, so
 * that where there is little none goes without while another one is filled.
 */
export function dealInTurn<T>(room: readonly number[], next: (place: number) => T | null): T[][] {
  const dealt = room.map((): T[] => []);
  let open = [...room.keys()];
  while (open.length > 0) {
    open = open.filter((place) => {
      const got = dealt[place];
      if (got === undefined || got.length >= (room[place] ?? 0)) return false;
      const item = next(place);
      if (item !== null) got.push(item);
      return item !== null;
    });
  }
  return dealt;
}
