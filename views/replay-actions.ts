import { runPaths } from '../src/store/run-directory.ts';
import type { StepMark } from '../src/store/step-figures.ts';
import { AGENT_HANDLERS } from './agent-actions.ts';
import type { Handler } from './handler.ts';
import { ReplayCursor } from './replay-cursor.ts';
import type { REPLAY_KEYS } from './replay-keys.ts';
import type { Session } from './session.ts';
import { LONG_STEPS, PagedEpisode, type StepSource } from './step-source.ts';
import { problemText } from './toast.ts';

/** What the keys of the replay do. */
export const REPLAY_HANDLERS: Readonly<Record<keyof typeof REPLAY_KEYS, Handler>> = {
  notableNext: (session) => goTo(session, NOTABLE, 1, 'was paid or had no effect'),
  notablePrevious: (session) => goTo(session, NOTABLE, -1, 'was paid or had no effect'),
  rewardNext: (session) => goTo(session, ['paid'], 1, 'was paid'),
  rewardPrevious: (session) => goTo(session, ['paid'], -1, 'was paid'),
  toolErrorNext: (session) => goTo(session, ['toolError'], 1, 'has a tool that failed'),
  toolErrorPrevious: (session) => goTo(session, ['toolError'], -1, 'has a tool that failed'),
  behaviourNext: (session) => goTo(session, ['behaviour'], 1, 'is part of a behaviour'),
  behaviourPrevious: (session) => goTo(session, ['behaviour'], -1, 'is part of a behaviour'),
  ...AGENT_HANDLERS,
  failureStep: goToFailure,
  matchNext: (session) => nextMatch(session, 1),
  matchPrevious: (session) => nextMatch(session, -1),
  nextEpisode: (session) => openEpisode(session, 1),
  previousEpisode: (session) => openEpisode(session, -1),
  play: (session) => session.player.faster(),
};

const NOTABLE: readonly StepMark[] = ['paid', 'ineffective'];

function goTo(session: Session, marks: readonly StepMark[], direction: 1 | -1, what: string): void {
  const went = session.replay?.nextMarked(marks, direction);
  if (went === null) session.say('the steps are still being read');
  else if (went === false) session.say(`no ${direction > 0 ? 'later' : 'earlier'} step ${what}`);
}

function goToFailure(session: Session): void {
  const { replay } = session;
  if (replay === null) return;
  const { failure } = replay.episode.summary;
  if (failure === null) session.say('this episode did not fail');
  else replay.moveTo(replay.places - 1);
}

/** Looks for a text in the replay in front. */
export function findInReplay(session: Session, text: string): void {
  session.replay?.find(text, (found) => {
    if (!found) session.say(`no step has "${text.trim()}"`);
  });
}

function nextMatch(session: Session, direction: 1 | -1): void {
  session.replay?.nextMatch(direction, (found) => {
    const search = session.replay?.search ?? '';
    if (found) return;
    session.say(search === '' ? 'nothing is searched: / searches' : `no other step has "${search}"`);
  });
}

/** Opens the episode under the pointer, after moving it. The list keeps still, so that next and previous mean something. */
export function openEpisode(session: Session, by: number): void {
  const { list, run } = session;
  if (run === null) return;
  const before = list.view.selected;
  const from = session.screen;
  list.move(run.search, by, () => {
    const { selected } = list;
    // Its page may have come after the user went elsewhere.
    if (selected === null || session.screen !== from || session.run !== run) return;
    if (by === 0 || list.view.selected !== before) showEpisode(session, selected.id);
    else
      session.say(by > 0 ? 'this is the last episode of the list' : 'this is the first episode of the list');
  });
}

/** Opens an episode: a long one when its first page has been read. */
export function showEpisode(session: Session, id: string): void {
  const { run, runId, screen, reading } = session;
  const reader = run?.reader ?? null;
  if (reader === null || runId === null) return;
  try {
    const { steps } = reader.summary(id);
    if (steps <= LONG_STEPS) {
      session.replay = new ReplayCursor(reader.episode(id));
      return session.goTo('replay');
    }
  } catch (thrown) {
    return session.say(problemText(thrown), 'bad');
  }
  const paths = runPaths(session.options.runsDirectory, runId);
  session.attempt(async () => {
    const first = await reading.page(paths, id, 0);
    // The user has gone elsewhere meanwhile.
    if (session.run !== run || session.screen !== screen) return null;
    const onChange = (): void => session.changed();
    const isShown = (source: StepSource): boolean => session.replay?.steps === source;
    session.replay = new ReplayCursor(new PagedEpisode({ reading, paths, onChange, isShown }, first));
    session.goTo('replay');
    return null;
  });
}
