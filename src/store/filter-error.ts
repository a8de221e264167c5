import { LabError } from '../domain/error.ts';

/** What is wrong with a filter, and where. */
export interface FilterProblem {
  /** Index into the text of the first character that is wrong. */
  readonly at: number;
  readonly message: string;
  /** What may have been meant, best first. */
  readonly suggestions?: readonly string[];
  readonly hint: string;
}

/** How much of the text is shown on each side of the column. */
const SHOWN = 60;

/**
 * The `filter-invalid` error of a text: its message names the column, counted from 1, suggests what may have been meant,
 * and shows the place with a caret under it.
 */
export function filterError(text: string, problem: FilterProblem): LabError {
  const suggestions = problem.suggestions ?? [];
  const meant = suggestions.length > 0 ? `; did you mean ${suggestions.join(' or ')}?` : '';
  const start = Math.max(0, problem.at - SHOWN);
  // Tabs and the like would move the caret.
  const shown = text.slice(start, problem.at + SHOWN).replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ');
  const caret = `${' '.repeat(problem.at - start)}^`;
  return new LabError('filter-invalid', {
    message: `filter, column ${problem.at + 1}: ${problem.message}${meant}\n  ${shown}\n  ${caret}`,
    hint: problem.hint,
  });
}
