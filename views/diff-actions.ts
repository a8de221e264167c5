import type { EpisodeSummary } from '../src/domain/episode.ts';
import { alignExecutions } from '../src/replay/align.ts';
import { wholeRows } from '../src/replay/aligned-rows.ts';
import { compareExecutions } from '../src/replay/compare.ts';
import type { ComparisonQuestion } from '../src/replay/long-comparison.ts';
import type { ReplayMode } from '../src/replay/modes.ts';
import { recordedExecution } from '../src/replay/recorded.ts';
import type { EpisodeSearch } from '../src/store/episode-search.ts';
import { parseFilter } from '../src/store/filter.ts';
import { type DiffSide, EpisodeDiff } from './episode-diff.ts';
import type { Screen } from './key-binding.ts';
import { diffHeight } from './screens/diff.ts';
import type { Session } from './session.ts';
import { LONG_STEPS } from './step-source.ts';
import { problemText } from './toast.ts';

/** Marks the episode in front, or takes the mark from it. */
export function markEpisode(session: Session): void {
  const episode = inFront(session);
  if (episode === null) return;
  session.marked = session.marked === episode.id ? null : episode.id;
  session.say(
    session.marked === null
      ? `${episode.id} is no longer marked`
      : `${episode.id} is marked: d on another one compares them`,
  );
}

/** Compares the episode in front with the marked one, or with the newest try of the same task before it. */
export function diffEpisode(session: Session): void {
  const episode = inFront(session);
  const { run, marked, screen } = session;
  if (episode === null || run === null) return;
  if (marked !== null) return compare(session, marked, episode.id);
  session.attempt(async () => {
    const found = await previousTry(run.search, episode);
    // The user has gone elsewhere meanwhile, or asked again.
    const isLate = session.run !== run || session.screen !== screen || inFront(session)?.id !== episode.id;
    if (found !== null && !isLate) compare(session, found.episode?.id ?? null, episode.id);
    return null;
  });
}

/** Shows two episodes beside each other; null for the first where there is none to compare with. */
function compare(session: Session, other: string | null, id: string): void {
  const reader = session.run?.reader ?? null;
  if (reader === null) return;
  if (other === null || other === id) {
    session.say(`${id} is the first try of its task; mark another episode with m, then press d here`);
    return;
  }
  try {
    const [before, after] = [reader.summary(other), reader.summary(id)];
    const sides: Sides = [recordedSide(before), recordedSide(after)];
    if (Math.max(before.steps, after.steps) > LONG_STEPS) {
      const question = { kind: 'episodes', left: other, right: id } as const;
      return compareLong(session, question, sides, {
        waiting: `reading ${other} and ${id}`,
        title: `${other} and ${id}`,
      });
    }
    const [left, right] = [recordedExecution(reader.episode(other)), recordedExecution(reader.episode(id))];
    show(session, new EpisodeDiff(...sides, wholeRows(alignExecutions(left, right)), null));
  } catch (thrown) {
    session.say(problemText(thrown), 'bad');
  }
}

/** Does the episode in front again, and compares. */
export function reexecuteEpisode(session: Session, mode: ReplayMode): void {
  const episode = inFront(session);
  const { runId, screen } = session;
  const reader = session.run?.reader ?? null;
  if (episode === null || runId === null || reader === null) return;
  const title = `${episode.id} done again${mode === 'policy' ? ' by its policy' : ''}`;
  const recorded = recordedSide(episode);
  const sides: Sides = [recorded, { title, task: recorded.task }];
  if (episode.steps > LONG_STEPS) {
    const question = { kind: 'again', id: episode.id, mode } as const;
    return compareLong(session, question, sides, { waiting: `doing ${episode.id} again`, title });
  }
  session.say(`doing ${episode.id} again`);
  session.attempt(async () => {
    const stored = reader.episode(episode.id);
    const execution = await session.options.reexecute(runId, episode.id, mode);
    // The user has opened another run meanwhile.
    if (session.runId !== runId) return null;
    const record = recordedExecution(stored);
    const comparison = compareExecutions(record, execution);
    const rows = wholeRows(alignExecutions(record, execution));
    return present(session, screen, title, new EpisodeDiff(...sides, rows, comparison));
  });
}

type Sides = readonly [DiffSide, DiffSide];

/** Compares what is too long to be read between two frames: in a process of its own, until it is there or the user gives it up. */
function compareLong(
  session: Session,
  question: ComparisonQuestion,
  sides: Sides,
  { waiting, title }: { readonly waiting: string; readonly title: string },
): void {
  const { run, runId, screen, longDiff, options } = session;
  if (runId === null) return;
  // How far it is stands in its place.
  session.hush();
  session.attempt(async () => {
    const found = await longDiff.run(waiting, async (terms) => await options.compare(runId, question, terms));
    // Given up, or the user has opened another run meanwhile.
    if (found === null || session.run !== run) return null;
    return present(session, screen, title, new EpisodeDiff(...sides, found.rows, found.outcome));
  });
}

/** Shows what was compared beside the drawing to who still waits for it on a screen; returns what is to be said. */
function present(session: Session, screen: Screen, title: string, diff: EpisodeDiff): string | null {
  const { comparison } = diff;
  const verdict =
    comparison === null
      ? null
      : [`${comparison.verdict}: ${comparison.reason}`, ...comparison.notes].join('; ');
  // The user has gone elsewhere meanwhile, or something lies over the screen: it must not be taken from under the keys.
  if (session.front !== screen) {
    session.diff = diff;
    return `${title}: ${verdict ?? 'compared'}; 5 shows it`;
  }
  show(session, diff);
  return verdict;
}

/** To the next row that differs, or the one before. */
export function jump(session: Session, direction: 1 | -1): void {
  const { diff, size } = session;
  if (diff === null || diff.jump(direction, diffHeight(size))) return;
  session.say(direction > 0 ? 'no difference further down' : 'no difference further up');
}

function show(session: Session, diff: EpisodeDiff): void {
  session.diff = diff;
  // The first thing to see is the first difference.
  if (diff.rows.row(0)?.same === true) diff.jump(1, diffHeight(session.size));
  session.goTo('diff');
}

function inFront(session: Session): EpisodeSummary | null {
  if (session.screen === 'replay') return session.replay?.episode.summary ?? null;
  return session.list.selected;
}

/** The newest try of the same task before this one: looked for beside the drawing, among all episodes of the run. */
async function previousTry(
  search: Pick<EpisodeSearch, 'first'>,
  { id, task, phase, mode }: EpisodeSummary,
): ReturnType<EpisodeSearch['first']> {
  const sequence = Number(id.slice(1));
  if (sequence <= 1) return { episode: null };
  const family = JSON.stringify(task.family);
  const same = `env:${JSON.stringify(task.env)} family:${family} split:${task.split} index:${task.index} phase:${phase} mode:${mode}`;
  return await search.first(parseFilter(`${same} id:..e${sequence - 1}`));
}

function recordedSide({ id, iteration, policyVersion, seed, task }: EpisodeSummary): DiffSide {
  const title = `${id}  iteration ${iteration}, policy v${policyVersion}, seed ${seed}`;
  return { title, task: `${task.family}/${task.split}/${task.index}` };
}
