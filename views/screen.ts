import { NO_MARKS } from '../src/store/episode-marks.ts';
import type { KnobDeskView } from './knob-desk.ts';
import { isTooSmall } from './layout.ts';
import { fit, type Line, textWidth, untrusted } from './line.ts';
import type { RunSnapshot } from './live-run.ts';
import type { Look } from './look.ts';
import { drawCompare } from './screens/compare.ts';
import { drawConfirm } from './screens/confirm.ts';
import { drawDiff } from './screens/diff.ts';
import { drawEpisodes } from './screens/episodes.ts';
import { drawEvents } from './screens/events.ts';
import { drawFork } from './screens/fork.ts';
import { drawHelp } from './screens/help.ts';
import { drawHosts } from './screens/hosts.ts';
import { drawMenu } from './screens/menu.ts';
import { drawOverview } from './screens/overview.ts';
import { drawPalette } from './screens/palette.ts';
import { drawPipeline } from './screens/pipeline.ts';
import { drawReplay } from './screens/replay.ts';
import { drawRuns } from './screens/runs.ts';
import { drawTooSmall } from './screens/too-small.ts';
import type { Session } from './session.ts';
import type { EpisodePart } from './widgets/filter-line.ts';
import { drawFooter } from './widgets/footer.ts';
import { drawInputLine } from './widgets/input-line.ts';

const NO_KNOBS: KnobDeskView = { knobs: [], preview: null };

/** The screen as it is now: one line a row, never more rows than the terminal has. */
export function drawScreen(session: Session, look: Look): Line[] {
  const { size, keyContext: keys, question, help, palette, fork, menu } = session;
  if (isTooSmall(size)) return drawTooSmall(size, look);
  if (question !== null) return drawConfirm({ ...question, keys }, size, look);
  if (palette !== null) return drawPalette({ palette, keys }, size, look);
  if (menu !== null && session.prompt === null) return drawMenu(menu, keys, size, look);
  if (fork !== null) return withPrompt(drawFork({ desk: fork, keys }, size, look), session, look);
  if (help !== null) return drawHelp({ of: session.screen, scroll: help.scroll, keys }, size, look);
  return withPrompt(drawMain(session, look), session, look);
}

/** The screen under everything else. Without a run, or what a screen is of, that is the list of runs. */
function drawMain(session: Session, look: Look): Line[] {
  const { size, keyContext: keys, toast, replay, diff, run, screen } = session;
  const note = session.marks?.marks.notes.get(replay?.episode.summary.id ?? '')?.text ?? null;
  if (screen === 'replay' && replay !== null)
    return drawReplay(
      {
        cursor: replay,
        speed: session.player.speed,
        note,
        searchInput: session.filterInput,
        toast,
        keys,
      },
      size,
      look,
    );
  if (screen === 'diff' && diff !== null) return drawDiff({ diff, toast, keys }, size, look);
  if (screen === 'compare' && session.comparison !== null)
    return drawCompare({ comparison: session.comparison, toast, keys }, size, look);
  if (run !== null && screen !== 'runs') return drawRunScreen(session, run.snapshot(), look);
  const { runs, selectedRun: selected, starting, runsError: error } = session;
  const { views: figures, marked } = session.runsDesk;
  const now = Date.now();
  return drawRuns({ runs, selected, figures, marked, now, starting, error, toast, keys }, size, look);
}

function episodePart({ list, filterInput, completion, columns, marks, selection }: Session): EpisodePart {
  const how = { columns, marks: marks?.marks ?? NO_MARKS, selection };
  return { list: list.view, filterInput, completion: completion?.view ?? null, how };
}

/** The line that is asked for takes the place of the message. */
function withPrompt(lines: readonly Line[], { prompt, size, keyContext }: Session, look: Look): Line[] {
  if (prompt === null) return [...lines];
  const label = untrusted(prompt.problem ?? prompt.label);
  const room = Math.max(8, size.columns - 12);
  const input = drawInputLine(
    prompt,
    size.columns,
    look,
    `${fit(label, Math.min(room, textWidth(label)), look)}:`,
  );
  return [...lines.slice(0, -2), input, drawFooter('prompt', keyContext, size.columns, look)];
}

/** A screen of the open run as a whole. */
function drawRunScreen(session: Session, run: RunSnapshot, look: Look): Line[] {
  const { size, keyContext: keys, toast, filterInput, screen } = session;
  if (screen === 'events')
    return drawEvents({ run, log: session.events, filterInput, toast, keys }, size, look);
  if (screen === 'episodes') {
    const facets = session.showsFacets ? session.facets.view : null;
    return drawEpisodes({ run, facets, ...episodePart(session), toast, keys }, size, look);
  }
  if (screen === 'hosts') return drawHosts({ run, tree: session.hosts, toast, keys }, size, look);
  if (screen === 'pipeline')
    return drawPipeline({ run, scroll: session.pipelineScroll, toast, keys }, size, look);
  const knobs = session.knobs?.view(run.status, run.knobChanges) ?? NO_KNOBS;
  return drawOverview(
    { run, charts: session.charts, knobs, ...episodePart(session), toast, keys },
    size,
    look,
  );
}
