import { LabError } from './error.ts';
import { checkKnob, KNOB_NAMES, type KnobName } from './knob.ts';
import { nearest } from './nearest.ts';

/** What somebody wants of knobs. */
export interface KnobTurns {
  readonly values: Partial<Record<KnobName, number>>;
  /** Given back to the schedule of the config. */
  readonly scheduled: readonly KnobName[];
}

/** What gives a knob back to its schedule: this, and no number, after its name. */
const SCHEDULE = '=schedule';

/** Reads `clip=0.1 lr=schedule`. Throws `knob-invalid` as `parseKnobs` does. */
export function parseTurns(assignments: readonly string[]): KnobTurns {
  const isScheduled = assignments.map((assignment) => assignment.endsWith(SCHEDULE));
  const scheduled = assignments
    .filter((_, at) => isScheduled[at] === true)
    .map((assignment) => findKnob(assignment.slice(0, -SCHEDULE.length)));
  const values = parseKnobs(assignments.filter((_, at) => isScheduled[at] !== true));
  return { values, scheduled };
}

/** Reads `clip=0.1 kl=0.02`. Throws `knob-invalid` for a name, a number or a range that is not right. */
export function parseKnobs(assignments: readonly string[]): Partial<Record<KnobName, number>> {
  const knobs: Partial<Record<KnobName, number>> = {};
  for (const assignment of assignments) {
    const [name = '', text = '', ...rest] = assignment.split('=');
    const knob = findKnob(name);
    const value = Number(text);
    if (text.trim() === '' || rest.length > 0 || Number.isNaN(value)) {
      throw new LabError('knob-invalid', {
        message: `"${assignment}" is not an assignment; wanted ${knob}=number`,
      });
    }
    knobs[knob] = checkKnob(knob, value);
  }
  return knobs;
}

function findKnob(name: string): KnobName {
  const knob = KNOB_NAMES.find((known) => known === name);
  if (knob !== undefined) return knob;
  const like = nearest(name, KNOB_NAMES);
  throw new LabError('knob-invalid', {
    message: `"${name}" is not a knob`,
    hint: like === null ? `the knobs are: ${KNOB_NAMES.join(', ')}` : `did you mean ${like}?`,
  });
}
