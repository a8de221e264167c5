import { isRecord } from '../domain/table.ts';
import type { IterationRow } from './iteration-rows.ts';

/** A row of metrics as it was stored, unchecked. */
type Metrics = Readonly<Record<string, unknown>>;

/**
 * Of each `width` iterations those rows that have the least and the greatest of some figures, and the last row; in their order.
 * Throws SyntaxError for a row that is no JSON.
 */
export function tellingRows(
  rows: Iterable<IterationRow>,
  figures: readonly string[],
  width: number,
): Metrics[] {
  const told: Metrics[] = [];
  let stretch = new Stretch(figures);
  let end = width;
  for (const { iteration, metrics } of rows) {
    if (iteration > end) {
      told.push(...stretch.telling());
      stretch = new Stretch(figures);
      end = Math.ceil(iteration / width) * width;
    }
    const row: unknown = JSON.parse(metrics);
    if (isRecord(row)) stretch.add(row);
  }
  told.push(...stretch.telling());
  return told;
}

/** Rows one after the other, of which few are told. */
class Stretch {
  readonly #figures: readonly string[];
  /** By figure, and with a sign for which end. */
  readonly #ends = new Map<string, { readonly value: number; readonly row: Metrics; readonly at: number }>();
  #last: Metrics | null = null;
  #length = 0;

  constructor(figures: readonly string[]) {
    this.#figures = figures;
  }

  add(row: Metrics): void {
    for (const figure of this.#figures) {
      const value = row[figure];
      if (typeof value !== 'number') continue;
      this.#note(`least ${figure}`, -value, row);
      this.#note(`greatest ${figure}`, value, row);
    }
    this.#last = row;
    this.#length += 1;
  }

  telling(): Metrics[] {
    const rows = new Map([...this.#ends.values()].map(({ at, row }) => [at, row]));
    if (this.#last !== null) rows.set(this.#length - 1, this.#last);
    return [...rows].toSorted(([one], [other]) => one - other).map(([, row]) => row);
  }

  #note(end: string, value: number, row: Metrics): void {
    const known = this.#ends.get(end);
    if (known === undefined || value > known.value) this.#ends.set(end, { value, row, at: this.#length });
  }
}
