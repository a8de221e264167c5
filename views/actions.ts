import { errorText } from '../src/domain/error.ts';
import type { KnobName } from '../src/domain/knob.ts';
import type { RunEvent, RunState } from '../src/domain/run.ts';
import { eventFilter, hasEpisodes, isSame } from './alarms.ts';
import { diffEpisode, jump, markEpisode, reexecuteEpisode } from './diff-actions.ts';
import { EPISODE_HANDLERS } from './episode-actions.ts';
import { openEvent } from './event-actions.ts';
import { closeLine, lineKind, openLine, savedFor, suggest, typeInLine } from './filter-actions.ts';
import { FORK_HANDLERS } from './fork-actions.ts';
import type { Handler } from './handler.ts';
import { ASKS, askToAdd, askWorkers, foldRow, sortTree, undrain } from './hosts-actions.ts';
import { type ActionName, actionOf, disabledReason, keyText } from './keymap.ts';
import type { KeyName } from './keys.ts';
import { askForKnob, setFromPalette } from './knob-actions.ts';
import { isTooSmall } from './layout.ts';
import { editLine } from './line-editor.ts';
import type { Look } from './look.ts';
import { move, movePage, moveToEnd } from './movement.ts';
import { Palette } from './palette.ts';
import { findInReplay, openEpisode, REPLAY_HANDLERS, showEpisode } from './replay-actions.ts';
import { openRun, RUN_HANDLERS } from './run-actions.ts';
import type { Session } from './session.ts';
import { changeTheme } from './theme-actions.ts';
import { problemText } from './toast.ts';
import { iterationSpan } from './widgets/run-charts.ts';

/** Does what a pressed key means on the screen in front. A key without a meaning there does nothing. */
export function pressKey(session: Session, key: KeyName, look: Look): void {
  if (key === 'ctrl-c') {
    session.knobs?.drop();
    return quit(session);
  }
  if (key === 'ctrl-z') return session.suspend();
  if (isTooSmall(session.size)) return key === 'q' ? quit(session) : undefined;
  // Over the screen lies nothing that it would close.
  if (key === 'escape' && session.front === session.screen && session.longDiff.cancel())
    return session.say('given up: nothing was compared');
  const name = actionOf(session.front, key);
  if (name !== 'play') session.player.stop();
  if (name === null) return typeAt(session, key);
  const reason = disabledReason(name, session.keyContext);
  if (reason !== null) return session.say(`${keyText(key)} does nothing now: ${reason}`);
  HANDLERS[name](session, look);
  return session.changed();
}

/** A key without a meaning of its own is text where a line is being typed. */
function typeAt(session: Session, key: KeyName): void {
  if (session.front === 'filter') return typeInLine(session, key);
  if (session.prompt !== null) {
    const line = editLine(session.prompt, key);
    if (line !== null) session.prompt = { ...session.prompt, ...line, problem: null };
    return session.changed();
  }
  if (session.palette === null) return undefined;
  session.palette.type(key);
  return session.changed();
}

/** States from which the run is let go on. */
const RESTING: ReadonlySet<RunState> = new Set(['paused', 'pausing', 'quiesced', 'stalled']);

const HANDLERS: Readonly<Record<ActionName, Handler>> = {
  pause: (session) => {
    const state = session.run?.snapshot().manifest.state;
    const resting = state !== undefined && RESTING.has(state);
    session.attempt(async () => {
      await (resting ? session.client?.resume() : session.client?.pause(false));
      return resting ? 'resuming' : 'pausing: episodes in flight are finished first';
    });
  },
  pauseNow: (session) =>
    session.attempt(async () => {
      await session.client?.pause(true);
      return 'paused: every environment stays where it is';
    }),
  quiesce: (session) =>
    session.attempt(async () => {
      await session.client?.quiesce();
      return 'coming to rest: nothing in flight, and all of it in a checkpoint';
    }),
  unfold: (session) => foldRow(session, true),
  fold: (session) => foldRow(session, false),
  sortTree,
  drain: (session) => askWorkers(session, ASKS.drain),
  undrain,
  restart: (session) => askWorkers(session, ASKS.restart),
  restartNow: (session) => askWorkers(session, ASKS.restartNow),
  addWorker: askToAdd,
  removeWorker: (session) => askWorkers(session, ASKS.remove),
  clipDown: (session) => turnKnob(session, 'clip', -1),
  clipUp: (session) => turnKnob(session, 'clip', 1),
  klDown: (session) => turnKnob(session, 'kl', -1),
  klUp: (session) => turnKnob(session, 'kl', 1),
  nextKnob: (session) => session.knobs?.select(1),
  previousKnob: (session) => session.knobs?.select(-1),
  knobDown: (session) => turnKnob(session, session.knobs?.selected ?? null, -1),
  knobUp: (session) => turnKnob(session, session.knobs?.selected ?? null, 1),
  setKnob: askForKnob,
  undo: (session) => session.knobs?.undo(),
  commit: (session) => session.knobs?.commit(),
  drop: (session) => session.knobs?.drop(),
  nextSuggestion: (session) => suggest(session, 1),
  previousSuggestion: (session) => suggest(session, -1),
  filter: (session) => openLine(session, typedBefore(session)),
  ...REPLAY_HANDLERS,
  ...EPISODE_HANDLERS,
  ...RUN_HANDLERS,
  choose: (session) => {
    const { menu } = session;
    if (menu?.stays !== true) session.menu = null;
    menu?.choose();
  },
  leave: (session) => {
    session.menu = null;
    session.prompt = null;
  },
  answer: (session) => session.answerPrompt(),
  eventEpisodes: showEventEpisodes,
  failure: (session) => changeList(session, () => session.list.nextFailure()),
  clear: (session) => changeList(session, () => session.list.clear()),
  accept: (session, look) => {
    if (session.question !== null) answer(session, session.question.focus === 'verb');
    else if (session.palette === null) acceptFilter(session);
    else runFromPalette(session, session.palette, look);
  },
  cancel: (session) => {
    if (session.palette === null) takeLine(session, '');
    closeLine(session);
    session.palette = null;
  },
  down: (session, look) => move(session, 1, look),
  up: (session, look) => move(session, -1, look),
  pageDown: (session, look) => movePage(session, 1, look),
  pageUp: (session, look) => movePage(session, -1, look),
  first: (session, look) => moveToEnd(session, 'first', look),
  last: (session, look) => moveToEnd(session, 'last', look),
  open: (session) => {
    if (session.screen === 'runs') openRun(session);
    else if (session.screen === 'events') openEvent(session, { showEpisode, showEpisodesOf });
    else if (session.screen === 'hosts') foldRow(session, null);
    else openEpisode(session, 0);
  },
  back: (session) => {
    if (session.question !== null) session.question = null;
    else if (session.help !== null) session.help = null;
    else if (session.screen === 'events' && session.events.filterText !== '') session.events.filterBy('');
    else if (session.screen === 'episodes' && isFiltered(session))
      changeList(session, () => session.list.clear());
    else session.goBack();
  },
  runs: (session) => {
    if (session.screen !== 'runs') session.showRuns();
    else if (session.run !== null) session.goBack();
  },
  episodes: (session) => toggle(session, 'episodes'),
  bench: (session) => session.goTo('overview'),
  hosts: (session) => toggle(session, 'hosts'),
  pipeline: (session) => {
    session.pipelineScroll = 0;
    toggle(session, 'pipeline');
  },
  events: (session) => toggle(session, 'events'),
  palette: (session) => {
    session.palette = new Palette(session.front, session.keyContext);
  },
  chartPage: (session) => session.charts.nextPage(),
  cursorLeft: (session) => withSpan(session, (span) => session.charts.moveCursor(-1, span)),
  cursorRight: (session) => withSpan(session, (span) => session.charts.moveCursor(1, span)),
  zoomIn: (session) => withSpan(session, (span) => session.charts.zoom(1, span)),
  zoomOut: (session) => withSpan(session, (span) => session.charts.zoom(-1, span)),
  panLeft: (session) => pan(session, -1),
  panRight: (session) => pan(session, 1),
  smooth: (session) => session.charts.nextSmoothing(),
  logScale: (session) => {
    session.charts.log = !session.charts.log;
  },
  resetCharts: (session) => session.charts.reset(),
  mark: markEpisode,
  diff: diffEpisode,
  reexecute: (session) => reexecuteEpisode(session, 'actions'),
  reexecutePolicy: (session) => reexecuteEpisode(session, 'policy'),
  ...FORK_HANDLERS,
  showReplay: (session) => session.goTo('replay'),
  showDiff: (session) => session.goTo('diff'),
  layout: (session) => {
    if (session.diff !== null) session.diff.sideBySide = !session.diff.sideBySide;
  },
  nextDifference: (session) => jump(session, 1),
  previousDifference: (session) => jump(session, -1),
  nextCommand: (session) => session.palette?.move(1),
  previousCommand: (session) => session.palette?.move(-1),
  help: (session) => {
    session.help = { scroll: 0 };
  },
  stop: askToStop,
  theme: changeTheme,
  focus: (session) => {
    const { question } = session;
    if (question === null) return;
    session.question = { ...question, focus: question.focus === 'cancel' ? 'verb' : 'cancel' };
  },
  agree: (session) => answer(session, true),
  refuse: (session) => answer(session, false),
  quit: (session) => {
    if (session.screen === 'runs' && session.run !== null) session.goBack();
    else quit(session);
  },
};

function pan(session: Session, direction: 1 | -1): void {
  if (session.charts.window === null) return session.say('all iterations are on the charts: z zooms in');
  return withSpan(session, (span) => session.charts.pan(direction, span));
}

function withSpan(session: Session, act: (span: readonly [number, number]) => void): void {
  const run = session.run?.snapshot();
  if (run !== undefined) act(iterationSpan(run));
}

function toggle(session: Session, screen: 'episodes' | 'hosts' | 'pipeline' | 'events'): void {
  if (session.screen === screen) session.goBack();
  else session.goTo(screen);
}

/** What a knob still shows with its preview is sent: the user has asked for it and not dropped it. */
function quit(session: Session): void {
  session.knobs?.commit();
  session.quitting = true;
  session.changed();
}

function turnKnob(session: Session, knob: KnobName | null, direction: 1 | -1): void {
  const status = session.run?.snapshot().status ?? null;
  if (status !== null && knob !== null) session.knobs?.turn(status, knob, direction);
}

/** Filters the list to the episodes of the newest event that names some, or of the one before that whose are shown. */
function showEventEpisodes(session: Session): void {
  const alarms = session.run?.snapshot().alarms ?? [];
  const events = alarms.filter(hasEpisodes);
  const { shownEvent, list } = session;
  const isShown = shownEvent !== null && shownEvent.filter === list.view.filterText;
  const shown = isShown ? events.findIndex((event) => isSame(event, shownEvent.event)) : -1;
  const event = events[(shown + 1) % Math.max(1, events.length)];
  const filter = event === undefined ? null : eventFilter(event);
  if (event !== undefined && filter !== null) showEpisodesOf(session, event, filter);
}

function showEpisodesOf(session: Session, event: RunEvent, filter: string): void {
  try {
    changeList(session, () => {
      session.list.clear();
      session.list.filterBy(filter);
    });
    session.shownEvent = { event, filter };
    session.say(event.message);
  } catch (thrown) {
    session.say(problemText(thrown), 'bad');
  }
}

function isFiltered({ list }: Session): boolean {
  return list.view.filterText !== '' || list.view.failure !== null;
}

function changeList(session: Session, change: () => void): void {
  change();
  session.reread();
}

/** Does what the palette's pointer is on, as if its key had been pressed. */
function runFromPalette(session: Session, palette: Palette, look: Look): void {
  const choice = palette.selected;
  if (choice === null) return;
  session.palette = null;
  if (choice.disabled === null && palette.assignment !== null) setFromPalette(session, palette.assignment);
  else if (choice.disabled === null) HANDLERS[choice.name](session, look);
  else session.say(`${choice.label} does nothing now: ${choice.disabled}`);
}

function acceptFilter(session: Session): void {
  const input = session.filterInput;
  if (input === null) return;
  try {
    takeLine(session, input.text);
    session.lines.add(lineKind(session.screen), input.text);
    closeLine(session);
  } catch (thrown) {
    session.filterInput = { ...input, problem: errorText(thrown).split('\n') };
  }
}

/** Takes over what was typed: a filter or a search, by the screen. */
function takeLine(session: Session, text: string): void {
  if (session.screen === 'events') session.events.filterBy(text);
  else if (session.screen === 'replay') findInReplay(session, text);
  else changeList(session, () => session.list.filterBy(text, savedFor(session, text)));
}

function typedBefore({ screen, events, replay, list }: Session): string {
  if (screen === 'events') return events.filterText;
  return screen === 'replay' ? (replay?.search ?? '') : list.view.filterText;
}

function answer(session: Session, isYes: boolean): void {
  const { question } = session;
  session.question = null;
  if (isYes) question?.onYes();
}

function askToStop(session: Session): void {
  const { run } = session;
  const snapshot = run?.snapshot();
  const status = snapshot?.status ?? null;
  if (snapshot === undefined || status === null) return;
  const busy = status.children.reduce((sum, { busySlots }) => sum + busySlots, 0);
  session.question = {
    title: `Stop run ${snapshot.manifest.id}?`,
    body: [
      `It writes a checkpoint and ends: ${status.children.length} processes, ${busy.toLocaleString('en-US')} episodes in flight.`,
      `${status.episodes.toLocaleString('en-US')} stored episodes and ${status.iteration} iterations stay.`,
      `Go on later with: agentrl-lab resume ${snapshot.manifest.id}`,
    ],
    verb: 'Stop the run',
    focus: 'cancel',
    onYes: () =>
      session.attempt(async () => {
        // The run that was asked about, whichever is open by now.
        if (run?.client == null) throw new Error('the run does not answer');
        await run.client.stop();
        return 'stopping: the run writes a checkpoint and ends';
      }),
  };
}
