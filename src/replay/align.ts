import { diffArrays, diffWordsWithSpace } from 'diff';
import { formatAction } from '../domain/space.ts';
import type { ExecutedStep } from '../protocol/replay.ts';
import type { RecordedExecution } from './recorded.ts';

/** What one side of a comparison says in a row; null where it has nothing there. */
type Cell = string | null;

/** A row of two executions beside each other. */
export interface AlignedRow {
  /** From 1; the observation after the last step is of the step after it. */
  readonly step: number;
  /** `step` begins one: what is done in it; the others say what was seen before it, what it was paid, and how it ended. */
  readonly kind: 'step' | 'sees' | 'gets' | 'end';
  readonly left: Cell;
  readonly right: Cell;
  readonly same: boolean;
}

/** How an execution came to its end, after so many steps. */
export type Ending = Pick<RecordedExecution, 'finalLines' | 'finalAgent' | 'end'> & {
  readonly steps: number;
};

/**
 * Puts two executions beside each other, step by step. Of an observation only the lines are listed that the one before on that
 * side did not have, matched line by line; of a step in which everything is the same, only what was done.
 */
export class Alignment {
  readonly #before = new Sights();
  readonly #after = new Sights();
  /** Steps taken so far. */
  #steps = 0;

  /** Rows of the next step; undefined for a side that has no more. */
  step(a: ExecutedStep | undefined, b: ExecutedStep | undefined): AlignedRow[] {
    this.#steps += 1;
    const step = this.#steps;
    const [left, right] = [this.#before.fresh(a?.lines, a?.agent), this.#after.fresh(b?.lines, b?.agent)];
    const done = row('step', step, actionText(a), actionText(b));
    const paid = row('gets', step, payText(a), payText(b));
    // Most steps of most pairs are the same: matching their lines would take longer than all the rest.
    if (done.same && paid.same && areEqual(left, right)) return [done];
    return [...alignLines(step, left, right), done, paid];
  }

  /** Rows after the last step. */
  end(left: Ending, right: Ending): AlignedRow[] {
    const step = this.#steps + 1;
    const last = alignLines(
      step,
      this.#before.fresh(left.finalLines ?? [], left.finalAgent),
      this.#after.fresh(right.finalLines ?? [], right.finalAgent),
    );
    return [...last.filter(({ same }) => !same), row('end', step, endText(left), endText(right))];
  }
}

/** All rows of two executions beside each other (`Alignment`). */
export function alignExecutions(left: RecordedExecution, right: RecordedExecution): AlignedRow[] {
  const alignment = new Alignment();
  const rows: AlignedRow[] = [];
  const steps = Math.max(left.steps.length, right.steps.length);
  for (let index = 0; index < steps; index += 1)
    rows.push(...alignment.step(left.steps[index], right.steps[index]));
  return [...rows, ...alignment.end(endingOf(left), endingOf(right))];
}

/** How an execution that is all in memory ended. */
export function endingOf({ steps, finalLines, finalAgent, end }: RecordedExecution): Ending {
  return { steps: steps.length, finalLines, ...(finalAgent === undefined ? {} : { finalAgent }), end };
}

/** A piece of a text: on one side only, or on both. */
export interface TextPart {
  readonly text: string;
  readonly side: 'left' | 'right' | 'both';
}

/** Two texts word by word. */
export function alignWords(left: string, right: string): TextPart[] {
  return diffWordsWithSpace(left, right).map(({ value, added, removed }) => ({
    text: value,
    side: added ? 'right' : removed ? 'left' : 'both',
  }));
}

function row(kind: AlignedRow['kind'], step: number, left: Cell, right: Cell): AlignedRow {
  return { kind, step, left, right, same: left === right };
}

/** What each agent saw last: lines are new to whoever did not see them then. */
class Sights {
  readonly #seen = new Map<string | undefined, ReadonlySet<string>>();

  fresh(lines: readonly string[] = [], agent?: string): string[] {
    const seen = this.#seen.get(agent);
    this.#seen.set(agent, new Set(lines));
    return lines.filter((line) => seen?.has(line) !== true);
  }
}

function areEqual(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((line, index) => line === right[index]);
}

/** Equal lines beside each other; between them, those of either side in order. */
function alignLines(step: number, left: string[], right: string[]): AlignedRow[] {
  const rows: AlignedRow[] = [];
  let gone: string[] = [];
  const flush = (come: readonly string[]): void => {
    for (let index = 0; index < Math.max(gone.length, come.length); index++) {
      rows.push(row('sees', step, gone[index] ?? null, come[index] ?? null));
    }
    gone = [];
  };
  for (const { value, added, removed } of diffArrays(left, right)) {
    if (removed) {
      gone = value;
      continue;
    }
    flush(added ? value : []);
    if (!added) for (const line of value) rows.push(row('sees', step, line, line));
  }
  flush([]);
  return rows;
}

/** `read "a"`, or `speaker: read "a"` in an episode of several agents. */
function actionText(step: ExecutedStep | undefined): Cell {
  if (step === undefined) return null;
  const action = formatAction(step.action);
  return step.agent === undefined ? action : `${step.agent}: ${action}`;
}

function payText(step: ExecutedStep | undefined): Cell {
  if (step === undefined) return null;
  const parts = step.parts.map(
    ({ name, paid, agent }) => `${name}${agent === undefined ? '' : ` to ${agent}`} ${rounded(paid)}`,
  );
  return [`reward ${rounded(step.reward)}`, ...parts, ...(step.effective ? [] : ['no effect'])].join('  ');
}

function endText({ steps, end }: Ending): string {
  const after = `after ${steps} ${steps === 1 ? 'step' : 'steps'}`;
  if (end === null) return `broke off ${after}`;
  if (!end.terminated) return `not ended ${after}`;
  return `${end.success ? 'success' : (end.failure ?? 'failure')} ${after}`;
}

function rounded(value: number): string {
  return String(Math.round(value * 1e6) / 1e6);
}
