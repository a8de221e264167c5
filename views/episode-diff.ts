import { type AlignedRow, alignExecutions } from '../src/replay/align.ts';
import type { Comparison } from '../src/replay/compare.ts';
import type { RecordedExecution } from '../src/replay/recorded.ts';
import { ListCursor } from './list-cursor.ts';

/** One side of a diff. */
export interface DiffSide {
  /** `e12, iteration 40, v40`. */
  readonly title: string;
  /** `ordered/held_out/12`. */
  readonly task: string;
  readonly execution: RecordedExecution;
}

/** Two executions beside each other, and where the user is in them. */
export class EpisodeDiff {
  readonly left: DiffSide;
  readonly right: DiffSide;
  /** What an execution came to beside its record; null for two episodes. */
  readonly comparison: Comparison | null;
  readonly rows: readonly AlignedRow[];
  readonly cursor = new ListCursor();
  sideBySide = true;

  constructor(left: DiffSide, right: DiffSide, comparison: Comparison | null) {
    this.left = left;
    this.right = right;
    this.comparison = comparison;
    this.rows = alignExecutions(left.execution, right.execution);
  }

  /** Rows that differ. */
  get differences(): number {
    return this.rows.filter(({ same }) => !same).length;
  }

  /** The step of the first difference, from 1; null where there is none. */
  get firstStep(): number | null {
    return this.rows.find(({ same }) => !same)?.step ?? null;
  }

  /** Moves to the next row that differs, or the one before. False when there is none. */
  jump(direction: 1 | -1, height: number): boolean {
    const { selected } = this.cursor;
    const rows = [...this.rows.entries()].filter(([, { same }]) => !same).map(([index]) => index);
    const found =
      direction > 0 ? rows.find((index) => index > selected) : rows.findLast((index) => index < selected);
    if (found === undefined) return false;
    this.cursor.move(found - selected, this.rows.length, height);
    return true;
  }
}
