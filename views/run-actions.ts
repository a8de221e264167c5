import { z } from 'zod';
import { formatBytes } from '../src/domain/bytes.ts';
import { LabError } from '../src/domain/error.ts';
import type { RunListing } from '../src/store/run-directory.ts';
import { formatCount } from './format.ts';
import type { Handler } from './handler.ts';
import { Menu } from './menu.ts';
import { compareRuns, MOST_COMPARED } from './run-comparison.ts';
import type { RUN_KEYS } from './run-keys.ts';
import { isDead } from './runs-desk.ts';
import type { Session } from './session.ts';
import { problemText } from './toast.ts';

/** What the keys of the list of runs do. */
export const RUN_HANDLERS: Readonly<Record<keyof typeof RUN_KEYS, Handler>> = {
  newRun: askForConfig,
  branchRun: askForBranch,
  resumeRun: (session) => withRun(session, (run) => askToResume(session, run)),
  markRun: (session) =>
    withRun(session, ({ id }) => {
      const { marked } = session.runsDesk;
      if (!marked.delete(id)) marked.add(id);
    }),
  compareRuns: showComparison,
  archiveRun: (session) => withRun(session, (run) => askToArchive(session, run)),
};

/** Opens the run under the pointer, or starts the demo; of one whose process is gone it asks first what to do. */
export function openRun(session: Session): void {
  if (session.starting) return;
  if (session.selectedRun === 0) {
    startAndOpen(session, async () => await session.options.startRun());
    return;
  }
  withRun(session, (run) => {
    if (isDead(run)) askWhatToDo(session, run);
    else look(session, run.id);
  });
}

function withRun(session: Session, act: (run: RunListing) => void): void {
  const run = session.runs[session.selectedRun - 1];
  if (run === undefined) session.say('the pointer is on no run');
  else act(run);
}

function look(session: Session, id: string): void {
  try {
    session.open(id);
  } catch (thrown) {
    session.say(problemText(thrown), 'bad');
  }
}

/** Waits for a run to have started, and opens it. */
function startAndOpen(session: Session, start: () => Promise<string>, how = 'has started'): void {
  if (session.starting) return;
  session.starting = true;
  session.attempt(async () => {
    try {
      const id = await start();
      session.open(id);
      return `run ${id} ${how}`;
    } finally {
      session.starting = false;
    }
  });
}

const startedSchema = z.looseObject({ run: z.string() });

async function startedBy(session: Session, words: readonly string[]): Promise<string> {
  const [answer] = await session.options.verb([...words, '--detach']);
  return startedSchema.parse(answer).run;
}

/** Words that change the config, as `clip=0.1 sampling.slots=512`. */
function setWords(words: readonly string[]): string[] {
  return words.flatMap((word) => {
    if (!/^[\w.]+=./u.test(word)) {
      throw new LabError('usage', {
        message: `"${word}" is no change of the config; wanted key=value, as clip=0.1`,
      });
    }
    return ['--set', word];
  });
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/u).filter((word) => word !== '');
}

function askForConfig(session: Session): void {
  session.ask({
    label: 'config file and changes, as run.yaml clip=0.1 (empty: the demo)',
    text: '',
    onAccept: (text) => {
      const words = wordsOf(text);
      const file = words[0]?.includes('=') === false ? words.slice(0, 1) : [];
      const changes = setWords(words.slice(file.length));
      startAndOpen(session, async () => await startedBy(session, ['run', ...file, ...changes]));
    },
  });
}

function askForBranch(session: Session): void {
  withRun(session, ({ id }) =>
    session.ask({
      label: 'branch from RUN@ITERATION, with changes as clip=0.1',
      text: `${id} `,
      onAccept: (text) => {
        const [place, ...changes] = wordsOf(text);
        if (place === undefined || place.includes('=')) {
          throw new LabError('usage', { message: `a run is wanted first, as ${id}@300` });
        }
        const words = ['branch', place, ...setWords(changes)];
        startAndOpen(session, async () => await startedBy(session, words), `has branched from ${place}`);
      },
    }),
  );
}

function askWhatToDo(session: Session, run: RunListing): void {
  session.menu = new Menu({
    title: `The process of ${run.id} is gone`,
    items: () => [
      { label: 'look at it', meaning: 'open it as it is' },
      { label: 'resume it', meaning: 'start it again from its last checkpoint' },
    ],
    onChoose: (index) => (index === 0 ? look(session, run.id) : resume(session, run)),
  });
}

function askToResume(session: Session, run: RunListing): void {
  if (run.live) return session.say(`${run.id} is live: Enter opens it`);
  session.question = {
    title: `Resume run ${run.id}?`,
    body: [
      'It starts again from its last checkpoint, in a process of its own.',
      `What was sampled after that checkpoint stays, and is not trained on.`,
    ],
    verb: 'Resume',
    focus: 'cancel',
    onYes: () => resume(session, run),
  };
}

function resume(session: Session, { id }: RunListing): void {
  startAndOpen(session, async () => await startedBy(session, ['resume', id]), 'goes on');
}

const archivedSchema = z.looseObject({
  segmentBytesBefore: z.number(),
  segmentBytesAfter: z.number(),
  episodes: z.number(),
});

function askToArchive(session: Session, run: RunListing): void {
  if (run.live) return session.say(`${run.id} is live: only a run that has ended can be archived`, 'bad');
  const view = session.runsDesk.views.get(run.id);
  const size =
    view !== undefined && 'figures' in view ? ` It takes ${formatBytes(view.figures.bytes)} now.` : '';
  session.question = {
    title: `Archive run ${run.id}?`,
    body: [
      `Its episodes move to Parquet files in its directory; they are still read from there.${size}`,
      'The segments that they stood in are removed.',
    ],
    verb: 'Archive',
    focus: 'cancel',
    onYes: () => {
      session.say(`archiving ${run.id}`);
      session.attempt(async () => {
        const [answer] = await session.options.verb(['archive', run.id]);
        const { episodes, segmentBytesBefore, segmentBytesAfter } = archivedSchema.parse(answer);
        return `${formatCount(episodes)} episodes of ${run.id} archived: segments ${formatBytes(segmentBytesBefore)} to ${formatBytes(segmentBytesAfter)}`;
      });
    },
  };
}

function showComparison(session: Session): void {
  const { marked } = session.runsDesk;
  const chosen = session.runs.filter(({ id }) => marked.has(id));
  if (chosen.length < 2 || chosen.length > MOST_COMPARED) {
    return session.say(`mark 2 to ${MOST_COMPARED} runs with m; ${chosen.length} are marked`);
  }
  session.say(`reading ${chosen.map(({ id }) => id).join(', ')}`);
  session.attempt(async () => {
    const { reading, options } = session;
    const comparison = await compareRuns(chosen, { reading, verb: options.verb });
    // The user has gone elsewhere meanwhile.
    if (session.screen !== 'runs') return null;
    session.comparison = comparison;
    session.goTo('compare');
    return `${chosen.length} runs compared`;
  });
}
