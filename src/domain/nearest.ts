/** The candidate most like a mistyped word, or null when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  return nearestNames(word, candidates)[0] ?? null;
}

/**
 * The names that somebody who typed `word` may have meant, best first, three at most: those that it begins, and those of
 * which at most a third of the word differs, or two characters; never one that shares nothing with it.
 */
export function nearestNames(word: string, names: readonly string[]): string[] {
  const typed = word.toLowerCase();
  const limit = Math.max(2, Math.floor(typed.length / 3));
  return names
    .map((name) => {
      const known = name.toLowerCase();
      const begins = typed.length > 0 && known.startsWith(typed);
      return { name, distance: begins ? 0.5 : editDistance(typed, known) };
    })
    .filter(({ name, distance }) => distance <= limit && distance < name.length)
    .toSorted((left, right) => left.distance - right.distance)
    .slice(0, 3)
    .map(({ name }) => name);
}

/** Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
