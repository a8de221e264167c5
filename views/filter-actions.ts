import type { SavedFilters } from '../src/store/filter.ts';
import { FilterCompletion } from './filter-completion.ts';
import type { Session } from './session.ts';
import { problemText } from './toast.ts';

/** Shows what may follow in the filter line; then puts the next suggestion into it, or the one before. */
export function suggest(session: Session, by: 1 | -1): void {
  const { filterInput, run } = session;
  if (filterInput === null || run === null) return;
  if (session.completion !== null) return session.completion.move(by);
  session.filterInput = { ...filterInput, problem: [] };
  const completion = new FilterCompletion({
    search: run.search,
    saved: savedOrNone(session),
    onText: (text) => {
      if (session.completion === completion) session.filterInput = { text, problem: [] };
    },
    onChange: () => session.changed(),
  });
  session.completion = completion;
  return completion.ask(filterInput.text);
}

/** The line is done with. */
export function closeLine(session: Session): void {
  session.filterInput = null;
  session.completion = null;
}

/** That they cannot be read is said, and everything else is suggested. */
function savedOrNone(session: Session): SavedFilters {
  try {
    return session.savedFilters();
  } catch (thrown) {
    session.say(problemText(thrown), 'bad');
    return new Map();
  }
}

/** The saved filters where a text may name one: that their file cannot be read must not keep other filters from working. */
export function savedFor(session: Session, text: string): SavedFilters {
  return text.includes('@') ? session.savedFilters() : new Map();
}
