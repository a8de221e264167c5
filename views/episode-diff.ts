import type { AlignedRows } from '../src/replay/aligned-rows.ts';
import type { Outcome } from '../src/replay/long-comparison.ts';
import { ListCursor } from './list-cursor.ts';

/** One side of a diff. */
export interface DiffSide {
  /** `e12, iteration 40, v40`. */
  readonly title: string;
  /** `ordered/held_out/12`. */
  readonly task: string;
}

/** Two executions beside each other, and where the user is in them. */
export class EpisodeDiff {
  readonly left: DiffSide;
  readonly right: DiffSide;
  readonly rows: AlignedRows;
  /** What an execution came to beside its record; null for two episodes. */
  readonly comparison: Outcome | null;
  /** The step of the first difference, from 1; null where there is none. */
  readonly firstStep: number | null;
  readonly cursor = new ListCursor();
  sideBySide = true;

  constructor(left: DiffSide, right: DiffSide, rows: AlignedRows, comparison: Outcome | null) {
    this.left = left;
    this.right = right;
    this.rows = rows;
    this.comparison = comparison;
    const first = rows.nextDifferent(-1, 1);
    this.firstStep = first === null ? null : (rows.row(first)?.step ?? null);
  }

  /** Rows that differ. */
  get differences(): number {
    return this.rows.differences;
  }

  /** Moves to the next row that differs, or the one before. False when there is none. */
  jump(direction: 1 | -1, height: number): boolean {
    const { selected } = this.cursor;
    const found = this.rows.nextDifferent(selected, direction);
    if (found === null) return false;
    this.cursor.move(found - selected, this.rows.length, height);
    return true;
  }
}
