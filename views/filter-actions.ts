import type { SavedFilters } from '../src/store/filter.ts';
import { FilterCompletion } from './filter-completion.ts';
import { type EditedLine, editLine, lineOf } from './line-editor.ts';
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
    onLine: (line) => {
      if (session.completion === completion) session.filterInput = { ...line, problem: [] };
    },
    onChange: () => session.changed(),
  });
  session.completion = completion;
  return completion.ask(filterInput);
}

/** Opens the line with a text. */
export function openLine(session: Session, text: string): void {
  session.filterInput = { ...lineOf(text), problem: [] };
}

/** A key in the line: types, moves and erases as readline does; up and down go through what was accepted before. */
export function typeInLine(session: Session, key: string): void {
  const { filterInput } = session;
  if (filterInput === null) return;
  const line =
    key === 'up' || key === 'down' ? recalled(session, filterInput, key) : editLine(filterInput, key);
  if (line !== null) {
    session.filterInput = { ...line, problem: [] };
    session.completion?.ask(line);
  }
  session.changed();
}

function recalled({ lines, screen }: Session, { text }: EditedLine, key: 'up' | 'down'): EditedLine | null {
  const found = lines.move(lineKind(screen), key === 'up' ? -1 : 1, text);
  return found === null ? null : lineOf(found);
}

/** Lines that were accepted are kept apart by what they are: filters of episodes, of events, searches in a replay. */
export function lineKind(screen: Session['screen']): string {
  return screen === 'events' || screen === 'replay' ? screen : 'episodes';
}

/** The line is done with. */
export function closeLine(session: Session): void {
  session.lines.leave();
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
