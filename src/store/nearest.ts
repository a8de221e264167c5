/** Number of characters to insert, delete, replace, or swap with the next, to make one word of another. */
function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      const costs = [
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
      ];
      if (swapped && row > 1 && column > 1) costs.push((beforeLast[column - 2] ?? 0) + 1);
      current.push(Math.min(...costs));
    }
    [beforeLast, last] = [last, current];
  }
  return last[right.length] ?? 0;
}

/** The names that somebody who typed `word` may have meant, best first: those it begins or that are close in spelling. */
export function nearestNames(word: string, names: readonly string[]): string[] {
  const typed = word.toLowerCase();
  const limit = Math.max(1, Math.floor(typed.length / 3));
  return names
    .map((name) => {
      const known = name.toLowerCase();
      const begins = typed.length > 0 && known.startsWith(typed);
      return { name, distance: begins ? 0.5 : editDistance(typed, known) };
    })
    .filter(({ distance }) => distance <= limit)
    .toSorted((left, right) => left.distance - right.distance)
    .slice(0, 3)
    .map(({ name }) => name);
}
