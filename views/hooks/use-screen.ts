import { useMemo, useSyncExternalStore } from 'react';
import { paintLine } from '../line.ts';
import type { Look } from '../look.ts';
import { drawScreen } from '../screen.ts';
import type { Session } from '../session.ts';

/** The painted rows of the screen. Draws again when the session has changed, and only when a row then differs. */
export function useScreen(session: Session, look: Look): readonly string[] {
  const snapshot = useMemo(() => screenSnapshot(session, look), [session, look]);
  return useSyncExternalStore(session.subscribe, snapshot);
}

function draw(session: Session, look: Look): string[] {
  return drawScreen(session, look).map((line) => paintLine(line, session.size.columns, look));
}

function screenSnapshot(session: Session, look: Look): () => readonly string[] {
  let version = -1;
  let rows: readonly string[] = [];
  return () => {
    if (version === session.version) return rows;
    version = session.version;
    const next = draw(session, session.themed(look));
    // The same array means to React that nothing changed: most looks at a quiet run end here.
    if (next.length !== rows.length || next.some((row, index) => row !== rows[index])) rows = next;
    return rows;
  };
}
