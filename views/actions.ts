import { errorText } from '../src/domain/error.ts';
import type { KnobName } from '../src/domain/knob.ts';
import { isSame } from './alarms.ts';
import { type ActionName, actionOf, disabledReason, keyText } from './keymap.ts';
import type { KeyName } from './keys.ts';
import { isTooSmall, planOverview, planReplay } from './layout.ts';
import type { Look } from './look.ts';
import { ReplayCursor } from './replay-cursor.ts';
import { helpScrollLimit } from './screens/help.ts';
import { pipelineScrollLimit } from './screens/pipeline.ts';
import { detailHeight } from './screens/replay.ts';
import { runsHeight } from './screens/runs.ts';
import type { Session } from './session.ts';
import { problemText } from './toast.ts';

/** Does what a pressed key means on the screen in front. A key without a meaning there does nothing. */
export function pressKey(session: Session, key: KeyName, look: Look): void {
  if (key === 'ctrl-c') {
    session.knobs?.drop();
    return quit(session);
  }
  if (isTooSmall(session.size)) return key === 'q' ? quit(session) : undefined;
  const name = actionOf(session.front, key);
  if (name === null) return session.front === 'filter' ? typeInFilter(session, key) : undefined;
  const reason = disabledReason(name, session.keyContext);
  if (reason !== null) return session.say(`${keyText(key)} does nothing now: ${reason}`);
  HANDLERS[name](session, look);
  return session.changed();
}

type Handler = (session: Session, look: Look) => void;

const HANDLERS: Readonly<Record<ActionName, Handler>> = {
  pause: (session) => {
    const state = session.run?.snapshot().manifest.state;
    const resting = state === 'paused' || state === 'pausing' || state === 'stalled';
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
  clipDown: (session) => turnKnob(session, 'clip', -1),
  clipUp: (session) => turnKnob(session, 'clip', 1),
  klDown: (session) => turnKnob(session, 'kl', -1),
  klUp: (session) => turnKnob(session, 'kl', 1),
  nextKnob: (session) => session.knobs?.select(1),
  previousKnob: (session) => session.knobs?.select(-1),
  knobDown: (session) => turnKnob(session, session.knobs?.selected ?? null, -1),
  knobUp: (session) => turnKnob(session, session.knobs?.selected ?? null, 1),
  undo: (session) => session.knobs?.undo(),
  commit: (session) => session.knobs?.commit(),
  drop: (session) => session.knobs?.drop(),
  filter: (session) => {
    session.filterInput = { text: session.list.view.filterText, problem: [] };
  },
  eventEpisodes: showEventEpisodes,
  failure: (session) => changeList(session, () => session.list.nextFailure()),
  clear: (session) => changeList(session, () => session.list.clear()),
  accept: (session) => (session.question === null ? acceptFilter(session) : answer(session)),
  cancel: (session) => {
    session.filterInput = null;
    changeList(session, () => session.list.filterBy(''));
  },
  down: (session, look) => move(session, 1, look),
  up: (session, look) => move(session, -1, look),
  pageDown: (session, look) => movePage(session, 1, look),
  pageUp: (session, look) => movePage(session, -1, look),
  first: (session, look) => moveToEnd(session, 'first', look),
  last: (session, look) => moveToEnd(session, 'last', look),
  open: (session) => (session.screen === 'runs' ? openRun(session) : openEpisode(session, 0)),
  nextEpisode: (session) => openEpisode(session, 1),
  previousEpisode: (session) => openEpisode(session, -1),
  back: (session) => {
    if (session.question !== null) session.question = null;
    else if (session.help !== null) session.help = null;
    else session.screen = 'overview';
  },
  runs: (session) => {
    if (session.screen === 'overview') session.showRuns();
    else if (session.run !== null) session.screen = 'overview';
  },
  pipeline: (session) => {
    session.pipelineScroll = 0;
    session.screen = session.screen === 'pipeline' ? 'overview' : 'pipeline';
  },
  help: (session) => {
    session.help = { scroll: 0 };
  },
  stop: askToStop,
  focus: (session) => {
    const { question } = session;
    if (question === null) return;
    session.question = { ...question, focus: question.focus === 'cancel' ? 'verb' : 'cancel' };
  },
  quit: (session) => {
    if (session.screen === 'runs' && session.run !== null) session.screen = 'overview';
    else quit(session);
  },
};

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
  const events = alarms.filter(({ episodes }) => episodes.length > 0);
  const { shownEvent, list } = session;
  const isShown = shownEvent !== null && shownEvent.filter === list.view.filterText;
  const shown = isShown ? events.findIndex((event) => isSame(event, shownEvent.event)) : -1;
  const event = events[(shown + 1) % Math.max(1, events.length)];
  if (event === undefined) return;
  const filter = `id:${event.episodes.join(',')}`;
  try {
    changeList(session, () => {
      list.clear();
      list.filterBy(filter);
    });
    session.shownEvent = { event, filter };
    session.say(event.message);
  } catch (thrown) {
    session.say(problemText(thrown), 'bad');
  }
}

function changeList(session: Session, change: () => void): void {
  change();
  const reader = session.run?.reader ?? null;
  if (reader !== null) session.list.refresh(reader, Date.now());
}

function typeInFilter(session: Session, key: KeyName): void {
  const input = session.filterInput;
  if (input === null) return;
  const typed = key === 'space' ? ' ' : key;
  if (key === 'backspace')
    session.filterInput = { text: Array.from(input.text).slice(0, -1).join(''), problem: [] };
  else if (key === 'ctrl-u') session.filterInput = { text: '', problem: [] };
  else if (Array.from(typed).length === 1) session.filterInput = { text: input.text + typed, problem: [] };
  session.changed();
}

function acceptFilter(session: Session): void {
  const input = session.filterInput;
  if (input === null) return;
  try {
    changeList(session, () => session.list.filterBy(input.text));
    session.filterInput = null;
  } catch (thrown) {
    session.filterInput = { text: input.text, problem: errorText(thrown).split('\n') };
  }
}

function answer(session: Session): void {
  const { question } = session;
  session.question = null;
  if (question?.focus === 'verb') question.onYes();
}

function move(session: Session, by: number, look: Look): void {
  if (session.help !== null) {
    const model = { of: session.screen, scroll: 0, keys: session.keyContext };
    const limit = helpScrollLimit(model, session.size, look);
    session.help = { scroll: Math.max(0, Math.min(limit, session.help.scroll + by)) };
  } else if (session.screen === 'runs') {
    session.selectedRun = Math.max(0, Math.min(session.runs.length, session.selectedRun + by));
  } else if (session.screen === 'pipeline') {
    const run = session.run?.snapshot();
    const limit = run === undefined ? 0 : pipelineScrollLimit(run, session.size, look);
    session.pipelineScroll = Math.max(0, Math.min(limit, session.pipelineScroll + by));
  } else if (session.screen === 'replay') {
    session.replay?.move(by);
  } else {
    const reader = session.run?.reader ?? null;
    if (reader !== null) session.list.move(reader, by);
  }
}

function movePage(session: Session, direction: 1 | -1, look: Look): void {
  const { size, replay } = session;
  if (session.help === null && session.screen === 'replay' && replay !== null) {
    const height = planReplay(size).detailRows;
    const by = direction * Math.max(1, height - 2);
    return replay.scrollBy(by, detailHeight(replay, size, look), height);
  }
  const rows = session.screen === 'overview' ? planOverview(size).listRows : runsHeight(size);
  return move(session, direction * Math.max(1, rows), look);
}

function moveToEnd(session: Session, end: 'first' | 'last', look: Look): void {
  if (session.help !== null || session.screen === 'runs' || session.screen === 'pipeline') {
    return move(session, end === 'first' ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER, look);
  }
  if (session.screen === 'replay') {
    return session.replay?.moveTo(end === 'first' ? 0 : Number.MAX_SAFE_INTEGER);
  }
  const reader = session.run?.reader ?? null;
  if (reader === null) return undefined;
  return end === 'first' ? session.list.toFirst(reader, Date.now()) : session.list.toLast(reader);
}

function openRun(session: Session): void {
  if (session.starting) return;
  const listing = session.runs[session.selectedRun - 1];
  if (session.selectedRun > 0) {
    if (listing === undefined) return;
    try {
      session.open(listing.id);
    } catch (thrown) {
      session.say(problemText(thrown), 'bad');
    }
    return;
  }
  session.starting = true;
  session.attempt(async () => {
    try {
      const id = await session.options.startRun();
      session.open(id);
      return `run ${id} has started`;
    } finally {
      session.starting = false;
    }
  });
}

/** Opens the episode under the pointer, after moving it. The list keeps still, so that next and previous mean something. */
function openEpisode(session: Session, by: number): void {
  const reader = session.run?.reader ?? null;
  if (reader === null) return;
  const before = session.list.view.selected;
  session.list.move(reader, by);
  const { selected } = session.list;
  if (selected === null) return;
  if (by !== 0 && session.list.view.selected === before) {
    session.say(by > 0 ? 'this is the last episode of the list' : 'this is the first episode of the list');
    return;
  }
  try {
    session.replay = new ReplayCursor(reader.episode(selected.id));
    session.screen = 'replay';
  } catch (thrown) {
    session.say(problemText(thrown), 'bad');
  }
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
