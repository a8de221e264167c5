import type { KnobDeskView } from './knob-desk.ts';
import { isTooSmall } from './layout.ts';
import type { Line } from './line.ts';
import type { Look } from './look.ts';
import { drawConfirm } from './screens/confirm.ts';
import { drawEvents } from './screens/events.ts';
import { drawHelp } from './screens/help.ts';
import { drawOverview } from './screens/overview.ts';
import { drawPalette } from './screens/palette.ts';
import { drawPipeline } from './screens/pipeline.ts';
import { drawReplay } from './screens/replay.ts';
import { drawRuns } from './screens/runs.ts';
import { drawTooSmall } from './screens/too-small.ts';
import type { Session } from './session.ts';

const NO_KNOBS: KnobDeskView = { knobs: [], preview: null };

/** The screen as it is now: one line a row, never more rows than the terminal has. */
export function drawScreen(session: Session, look: Look): Line[] {
  const { size, keyContext: keys, toast, question, help, replay, run } = session;
  if (isTooSmall(size)) return drawTooSmall(size, look);
  if (question !== null) return drawConfirm({ ...question, keys }, size, look);
  if (help !== null) return drawHelp({ of: session.screen, scroll: help.scroll, keys }, size, look);
  if (session.screen === 'replay' && replay !== null)
    return drawReplay({ cursor: replay, toast, keys }, size, look);
  if (session.palette !== null) return drawPalette({ palette: session.palette, keys }, size, look);
  if (session.screen === 'events' && run !== null) {
    const { events: log, filterInput } = session;
    return drawEvents({ run: run.snapshot(), log, filterInput, toast, keys }, size, look);
  }
  if (session.screen === 'overview' && run !== null) {
    const snapshot = run.snapshot();
    const model = {
      run: snapshot,
      knobs: session.knobs?.view(snapshot.status, snapshot.knobChanges) ?? NO_KNOBS,
      list: session.list.view,
      filterInput: session.filterInput,
      toast,
      keys,
    };
    return drawOverview(model, size, look);
  }
  if (session.screen === 'pipeline' && run !== null) {
    return drawPipeline({ run: run.snapshot(), scroll: session.pipelineScroll, toast, keys }, size, look);
  }
  const { runs, selectedRun: selected, starting, runsError: error } = session;
  return drawRuns({ runs, selected, starting, error, toast, keys }, size, look);
}
