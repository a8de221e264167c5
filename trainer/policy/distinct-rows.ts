/**
 * Rows of whole numbers without their repeats. What a network computes of a row alone need be computed only once for equal
 * rows: of the lines of a minibatch three quarters are repeats, of the candidates too.
 */
export interface DistinctRows {
  /** [distinct, width], in the order in which they first occur. */
  readonly table: Int32Array;
  /** Which of them each row is. */
  readonly ids: Int32Array;
}

/** The distinct ones among the first `count` rows of an array [.., width]. Exact: rows with equal hashes are compared. */
export function distinctRows(rows: Int32Array, width: number, count: number): DistinctRows {
  const ids = new Int32Array(count);
  const first = new Int32Array(count);
  const slots = slotTable(count);
  const last = slots.length - 1;
  let distinct = 0;
  for (let row = 0; row < count; row++) {
    const start = row * width;
    let slot = hashOf(rows, start, width) & last;
    for (;;) {
      const known = (slots[slot] ?? 0) - 1;
      if (known < 0) {
        first[distinct] = row;
        ids[row] = distinct++;
        slots[slot] = distinct;
        break;
      }
      if (areEqual(rows, start, (first[known] ?? 0) * width, width)) {
        ids[row] = known;
        break;
      }
      slot = (slot + 1) & last;
    }
  }
  return { table: takeRows(rows, first.subarray(0, distinct), width), ids };
}

/** Those of the distinct rows that some samples have, numbered anew; `each` is the number of rows of a sample. */
export function selectDistinct(
  { table, ids }: DistinctRows,
  { width, each, samples }: { readonly width: number; readonly each: number; readonly samples: Int32Array },
): DistinctRows {
  const renumbered = new Int32Array(table.length / width);
  const selected = new Int32Array(Math.min(renumbered.length, samples.length * each));
  const placed = new Int32Array(samples.length * each);
  let distinct = 0;
  let at = 0;
  for (const sample of samples) {
    for (let row = sample * each; row < (sample + 1) * each; row++) {
      const id = ids[row] ?? 0;
      if (renumbered[id] === 0) {
        selected[distinct] = id;
        renumbered[id] = ++distinct;
      }
      placed[at++] = (renumbered[id] ?? 1) - 1;
    }
  }
  return { table: takeRows(table, selected.subarray(0, distinct), width), ids: placed };
}

/** An empty hash table, at most half full when all rows are in it: 0, or 1 + the number of a distinct row. */
function slotTable(rows: number): Int32Array {
  let size = 2;
  while (size < 2 * rows) size *= 2;
  return new Int32Array(size);
}

/** Multiplies and folds each number in (FNV's way, on 32 bits), then mixes the high bits down. */
function hashOf(rows: Int32Array, start: number, width: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < start + width; at++) hash = Math.imul(hash ^ (rows[at] ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

function areEqual(rows: Int32Array, a: number, b: number, width: number): boolean {
  for (let i = 0; i < width; i++) if (rows[a + i] !== rows[b + i]) return false;
  return true;
}

function takeRows(rows: Int32Array, which: Int32Array, width: number): Int32Array {
  const taken = new Int32Array(which.length * width);
  let at = 0;
  for (const row of which) {
    for (let from = row * width; from < (row + 1) * width; from++) taken[at++] = rows[from] ?? 0;
  }
  return taken;
}
