import { useMemo, useSyncExternalStore } from 'react';
import type { FrameClock } from '../frame-clock.ts';
import { Kept } from '../kept.ts';
import type { Look } from '../look.ts';
import { paintLine } from '../row.ts';
import { drawScreen } from '../screen.ts';
import type { Picture } from '../screen-painter.ts';
import type { Session } from '../session.ts';

/** What is to be seen of the session: made again when the clock says so and the session has changed. */
export function usePicture(session: Session, look: Look, clock: FrameClock): Picture {
  const snapshot = useMemo(() => pictures(session, look), [session, look]);
  return useSyncExternalStore(clock.subscribe, snapshot);
}

function pictures(session: Session, look: Look): () => Picture {
  let version = -1;
  let picture: Picture = { rows: [], size: session.size };
  // The same object while it says the same: rows are kept by it.
  const themed = new Kept<Look>();
  return () => {
    if (version === session.version) return picture;
    version = session.version;
    const own = themed.get([session.theme], () => session.themed(look));
    const { size } = session;
    const rows = drawScreen(session, own).map((line) => paintLine(line, size.columns, own));
    // The same object means to React that nothing changed: most looks at a quiet run end here.
    if (size !== picture.size || rows.length !== picture.rows.length || differ(rows, picture.rows)) {
      picture = { rows, size };
    }
    return picture;
  };
}

function differ(rows: Picture['rows'], before: Picture['rows']): boolean {
  return rows.some((row, index) => row.painted !== before[index]?.painted);
}
