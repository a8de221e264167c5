import type Database from 'better-sqlite3';

/** A row of table `iterations`. */
export interface IterationRow {
  readonly iteration: number;
  readonly attempt: number;
  /** JSON. */
  readonly metrics: string;
}

/** Success of an iteration; null where it was not measured. */
export interface SuccessRow {
  readonly iteration: number;
  readonly attempt: number;
  readonly heldOut: number | null;
  readonly train: number | null;
}

/** SQL that names, of `iterations` as `one`, the rows that count; for questions that need not be asked again and again. */
export const COUNTING = {
  /** A table for `WITH`; `schema` as in `main`. */
  starts: (schema: string) =>
    `starts AS (SELECT attempt, min(iteration) AS first FROM ${schema}.iterations GROUP BY attempt)`,
  condition:
    'NOT EXISTS (SELECT 1 FROM starts WHERE starts.attempt > one.attempt AND starts.first <= one.iteration)',
} as const;

/**
 * The iterations that count, in order: where a resumed run began again at an iteration, what earlier attempts did from there on
 * is left out. A row counts when no later attempt has a row at or before it; so in ascending order it is enough to know
 * the latest attempt until then, and only what is new has to be read.
 */
export class IterationRows {
  readonly #database: Database.Database;
  readonly #selectRows: Database.Statement<[number, number], IterationRow>;
  readonly #selectLatest: Database.Statement<[number], number | null>;
  readonly #selectLast: Database.Statement<[], number | null>;
  #selectSuccess: Database.Statement<[number], SuccessRow> | null = null;
  readonly #selectNearest: Database.Statement<[number], number>;
  readonly #newestAttempt: () => number;
  /** What the last look at all rows came to, and what they were then (`data_version`). */
  #scanned: { readonly until: number; readonly version: unknown; readonly attempt: number };

  /** `newestAttempt`: of the run, whether or not it has done an iteration yet; Infinity where nobody can say. */
  constructor(database: Database.Database, newestAttempt: () => number) {
    this.#database = database;
    this.#newestAttempt = newestAttempt;
    this.#scanned = { until: 0, version: null, attempt: 0 };
    this.#selectNearest = database
      .prepare<[number], number>(
        'SELECT attempt FROM iterations WHERE iteration <= ? ORDER BY iteration DESC, attempt DESC LIMIT 1',
      )
      .pluck();
    this.#selectRows = database.prepare<[number, number], IterationRow>(
      `SELECT iteration, attempt, metrics FROM iterations
       WHERE iteration > ? AND iteration <= ? ORDER BY iteration, attempt`,
    );
    this.#selectLatest = database
      .prepare<[number], number | null>('SELECT max(attempt) FROM iterations WHERE iteration <= ?')
      .pluck();
    this.#selectLast = database.prepare<[], number | null>('SELECT max(iteration) FROM iterations').pluck();
  }

  /** The greatest number, of whatever attempt; 0 without any. */
  last(): number {
    return this.#selectLast.get() ?? 0;
  }

  /** Those after `after` until `until`, one for each number. */
  between(after: number, until: number): IterationRow[] {
    const latest = this.#latestUntil(after);
    return counting(this.#selectRows.iterate(after, until), latest);
  }

  /** The same, one at a time: a run of a million has more than memory holds. Nothing else may be asked meanwhile. */
  *each(after = 0, until = Number.MAX_SAFE_INTEGER): Generator<IterationRow> {
    let [before, attempt]: [IterationRow | null, number] = [null, this.#latestUntil(after)];
    for (const row of this.#selectRows.iterate(after, until)) {
      if (row.attempt < attempt) continue;
      attempt = row.attempt;
      // A later attempt's row takes the place of the one of the same number before it.
      if (before !== null && before.iteration !== row.iteration) yield before;
      before = row;
    }
    if (before !== null) yield before;
  }

  /** Success of those after `after`: parsing all metrics of a long run takes a second and all memory. */
  successAfter(after: number): SuccessRow[] {
    this.#selectSuccess ??= this.#database.prepare<[number], SuccessRow>(
      `SELECT iteration, attempt, json_extract(metrics, '$.heldOutSuccess') AS heldOut,
         json_extract(metrics, '$.success') AS train
       FROM iterations WHERE iteration > ? ORDER BY iteration, attempt`,
    );
    const latest = this.#latestUntil(after);
    return counting(this.#selectSuccess.iterate(after), latest);
  }

  /** The latest attempt that has a row until an iteration. */
  #latestUntil(iteration: number): number {
    if (iteration <= 0) return 0;
    const nearest = this.#selectNearest.get(iteration) ?? 0;
    const newest = this.#newestAttempt();
    if (nearest >= newest) return nearest;
    // The newest attempt has not come so far yet, and may never: whether it begins before, all rows before have to say,
    // which in a run of a million iterations takes a second.
    const version: unknown = this.#database.pragma('data_version', { simple: true });
    if (this.#scanned.until !== iteration || this.#scanned.version !== version) {
      this.#scanned = { until: iteration, version, attempt: this.#selectLatest.get(iteration) ?? 0 };
    }
    return this.#scanned.attempt;
  }
}

/** Of rows in the order of iterations and attempts those that count, given the latest attempt before them. */
function counting<Row extends { readonly iteration: number; readonly attempt: number }>(
  rows: Iterable<Row>,
  latest: number,
): Row[] {
  let attempt = latest;
  const found: Row[] = [];
  for (const row of rows) {
    if (row.attempt < attempt) continue;
    attempt = row.attempt;
    // A later attempt's row takes the place of the one of the same number before it.
    if (found.at(-1)?.iteration === row.iteration) found.pop();
    found.push(row);
  }
  return found;
}
