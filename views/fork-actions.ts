import { LabError } from '../src/domain/error.ts';
import { ForkDesk } from './fork-desk.ts';
import type { FORK_KEYS } from './fork-keys.ts';
import { Menu, type MenuItem } from './menu.ts';
import type { Session } from './session.ts';
import { problemText } from './toast.ts';

/** The most continuations of one try: some minutes of all cores. */
const MOST = 1000;
/** The longest episode that a continuation may become. */
const MOST_STEPS = 1_000_000;

/** What the keys of forking do. */
export const FORK_HANDLERS: Readonly<Record<keyof typeof FORK_KEYS, (session: Session) => void>> = {
  fork: (session) => {
    const { replay } = session;
    if (replay === null) return;
    try {
      session.fork = new ForkDesk(replay.steps, replay.position);
    } catch (thrown) {
      session.say(problemText(thrown));
    }
  },
  goOn,
  forkPolicy: choosePolicy,
  forkCount: (session) => {
    const { fork } = session;
    if (fork === null) return;
    session.ask({
      label: `how many times it goes on, 1 to ${MOST}, now ${fork.count}`,
      text: '',
      onAccept: (text) => {
        fork.count = wholeNumber(text, 1, MOST);
      },
    });
  },
  forkSteps: (session) => {
    const { fork } = session;
    if (fork === null) return;
    session.ask({
      label: `cut short after how many steps, ${fork.step} or more (empty: as in the run)`,
      text: fork.maxSteps === null ? '' : String(fork.maxSteps),
      onAccept: (text) => {
        fork.maxSteps = text.trim() === '' ? null : wholeNumber(text, fork.step, MOST_STEPS);
      },
    });
  },
  leaveFork: (session) => {
    session.fork = null;
  },
};

/** Throws `usage` for what is none, or out of range. */
function wholeNumber(text: string, least: number, most: number): number {
  const value = Number(text.trim());
  if (/^\d+$/u.test(text.trim()) && value >= least && value <= most) return value;
  throw new LabError('usage', { message: `"${text}" is no whole number from ${least} to ${most}` });
}

/** The versions whose weights are kept, and whoever acted at that time. */
function choosePolicy(session: Session): void {
  const { fork, runId, options } = session;
  if (fork === null || runId === null) return;
  try {
    const versions = options.keptPolicies(runId);
    session.menu = new Menu({
      title: `Which policy goes on from step ${fork.step} of ${fork.summary.id}?`,
      items: () => [
        {
          label: 'of that time',
          meaning: versions.includes(fork.acted)
            ? `v${fork.acted}, which acted in this step`
            : `v${fork.acted} acted in this step, and is not kept: the nearest that is acts`,
        },
        ...versions.map((version, index) => itemOf(version, index === 0, version === fork.acted)),
      ],
      onChoose: (index) => {
        fork.version = versions[index - 1] ?? null;
      },
    });
  } catch (thrown) {
    session.say(problemText(thrown), 'bad');
  }
}

function itemOf(version: number, isNewest: boolean, hasActed: boolean): MenuItem {
  const meaning = [
    ...(isNewest ? ['the newest that is kept'] : []),
    ...(hasActed ? ['acted in this step'] : []),
  ];
  return { label: `v${version}`, meaning: meaning.join(', ') };
}

function goOn(session: Session): void {
  const { fork, runId, options } = session;
  const plan = fork?.plan ?? null;
  if (fork === null || runId === null || plan === null || fork.busy !== null) return;
  fork.busy = fork.selected?.text ?? '';
  session.attempt(async () => {
    try {
      fork.done(await options.fork(runId, fork.summary.id, plan));
    } catch (thrown) {
      fork.failed(problemText(thrown));
    }
    return null;
  });
}
