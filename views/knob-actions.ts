import { LabError } from '../src/domain/error.ts';
import { KNOB_NAMES, KNOBS, type KnobName } from '../src/domain/knob.ts';
import { parseTurns } from '../src/domain/knob-assignment.ts';
import { formatNumber } from './format.ts';
import type { Session } from './session.ts';

/** Asks for the value of the selected knob; others are named, as `agentrl-lab set` has them. */
export function askForKnob(session: Session): void {
  const { knobs, run } = session;
  const status = run?.snapshot().status ?? null;
  if (knobs === null || status === null) return session.say('the run has not said how its knobs are yet');
  const { selected } = knobs;
  const { label, minimum, maximum, integer } = KNOBS[selected];
  const kind = integer ? 'whole, ' : '';
  return session.ask({
    label: `${label}, ${kind}${formatNumber(minimum)} to ${formatNumber(maximum)}, now ${formatNumber(status.knobs[selected])} (others: clip=0.1)`,
    text: '',
    onAccept: (text) => takeAssignments(session, selected, text),
  });
}

/** Does what `:set clip 0.1` says, from whichever screen; what is wrong with it stays to be mended. */
export function setFromPalette(session: Session, text: string): void {
  // The preview is on the bench, and so is the knob.
  session.goTo('overview');
  askForKnob(session);
  if (session.prompt === null) return;
  session.prompt = { ...session.prompt, text, cursor: text.length };
  session.answerPrompt();
}

function takeAssignments(session: Session, selected: KnobName, text: string): void {
  const { knobs, run, client } = session;
  const status = run?.snapshot().status ?? null;
  if (knobs === null || status === null || client === null) {
    throw new LabError('run-not-live', { message: 'the run does not answer' });
  }
  const { values, scheduled } = parseTurns(assignmentsOf(text, selected));
  if (scheduled.length > 0) {
    session.attempt(async () => {
      await client.schedule(scheduled);
      return `${scheduled.map((knob) => KNOBS[knob].label).join(', ')} back on schedule`;
    });
  }
  knobs.propose(status, values);
}

/** `0.1`, `clip=0.1`, `clip 0.1`, and several of the latter, as assignments. Throws `knob-invalid` where nothing is typed. */
function assignmentsOf(text: string, selected: KnobName): string[] {
  const words = text
    .trim()
    .split(/\s+/u)
    .filter((word) => word !== '');
  const [first] = words;
  if (first === undefined) {
    throw new LabError('knob-invalid', { message: `a value is wanted, as ${KNOBS[selected].initial}` });
  }
  if (words.length === 1 && !first.includes('=')) return [`${selected}=${first}`];
  const assignments: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const next = words[at + 1];
    const isPair = KNOB_NAMES.some((name) => name === word) && next?.includes('=') === false;
    assignments.push(isPair ? `${word}=${next}` : word);
    if (isPair) at += 1;
  }
  return assignments;
}
