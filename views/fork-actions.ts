import { ForkDesk } from './fork-desk.ts';
import type { FORK_KEYS } from './fork-keys.ts';
import { forkHeight } from './screens/fork.ts';
import type { Session } from './session.ts';
import { problemText } from './toast.ts';

/** Continuations of one try. */
const COUNT = 20;

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
  nextChoice: (session) => move(session, 1),
  previousChoice: (session) => move(session, -1),
  goOn,
  leaveFork: (session) => {
    session.fork = null;
  },
};

function move({ fork, size }: Session, by: number): void {
  fork?.cursor.move(by, fork.choices.length, forkHeight(size));
}

function goOn(session: Session): void {
  const { fork, runId, options } = session;
  const choice = fork?.selected ?? null;
  if (fork === null || runId === null || choice === null || fork.busy !== null) return;
  fork.busy = choice.text;
  const { step, summary } = fork;
  const plan = { step, action: choice.action, version: null, count: COUNT };
  session.attempt(async () => {
    try {
      fork.done(await options.fork(runId, summary.id, plan));
    } catch (thrown) {
      fork.failed(problemText(thrown));
    }
    return null;
  });
}
