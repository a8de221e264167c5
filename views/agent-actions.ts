import type { AGENT_KEYS } from './agent-keys.ts';
import type { Handler } from './handler.ts';
import type { Session } from './session.ts';

/** What the keys for agents do. */
export const AGENT_HANDLERS: Readonly<Record<keyof typeof AGENT_KEYS, Handler>> = {
  turnNext: (session) => goToTurn(session, 1),
  turnPrevious: (session) => goToTurn(session, -1),
};

function goToTurn(session: Session, direction: 1 | -1): void {
  const { replay } = session;
  if (replay === null) return;
  if (replay.episode.summary.agentRewards === undefined) {
    session.say('this episode has one agent');
    return;
  }
  const went = replay.nextTurn(direction);
  if (went === null) session.say('the steps are still being read');
  else if (!went) session.say(`no ${direction > 0 ? 'later' : 'earlier'} step is this agent's`);
}
