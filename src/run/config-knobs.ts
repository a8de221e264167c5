import type { Config } from '../config/schema.ts';
import { KNOB_NAMES, type KnobName } from '../domain/knob.ts';
import type { KnobChange } from '../domain/run.ts';
import { keysOf } from '../domain/table.ts';
import type { Checkpoint } from './checkpoint.ts';
import { BY_CONFIG, BY_SCHEDULE } from './knob-history.ts';

/** What a run goes on from, and how its knobs came about. */
export interface KnobStart {
  /** With the knobs to go on with. */
  readonly checkpoint: Checkpoint;
  /** Changes that were stored after the checkpoint was written, and hold all the same. */
  readonly restored: readonly KnobChange[];
  /** What the config changes now. */
  readonly changes: readonly KnobChange[];
}

/**
 * A run goes on with its checkpoint's knobs, turned by hand or not, and with the turns that were stored after it: whoever was
 * told that a knob is turned can rely on it, whatever happens to the process (the schedule sets its own anew). A knob whose
 * value in the config is another than when that was last looked at is set to it: somebody has changed the config since,
 * and means it; so is a knob whose schedule in the config is another: it follows the new one, even if somebody had ended the
 * old one. `history` is every change stored of the run `runId`, oldest first.
 */
export function startingKnobs(
  checkpoint: Checkpoint,
  config: Pick<Config, 'knobs' | 'schedule'>,
  history: readonly KnobChange[],
  at: { readonly runId: string; readonly time: number },
): KnobStart {
  const restored = changesSince(checkpoint, history, at.runId).filter(({ who }) => who !== BY_SCHEDULE);
  const values = { ...checkpoint.trainer.knobs };
  const known = { ...checkpoint.configKnobs };
  for (const { knob, to, who } of restored) {
    values[knob] = to;
    if (who === BY_CONFIG) known[knob] = to;
  }
  const changed = KNOB_NAMES.filter((knob) => config.knobs[knob] !== known[knob]);
  const changes = changed.map((knob) => ({
    time: at.time,
    who: BY_CONFIG,
    knob,
    from: values[knob],
    to: config.knobs[knob],
    iteration: checkpoint.iteration + 1,
    minibatch: 0,
    undo: false,
  }));
  for (const { knob, to } of changes) values[knob] = to;
  const renewed = renewedSchedules(checkpoint, config.schedule).map((knob) => ({
    time: at.time,
    who: BY_SCHEDULE,
    knob,
    from: values[knob],
    to: values[knob],
    iteration: checkpoint.iteration + 1,
    minibatch: 0,
    undo: false,
  }));
  return {
    checkpoint: { ...checkpoint, trainer: { ...checkpoint.trainer, knobs: values } },
    restored,
    changes: [...changes, ...renewed],
  };
}

/** Knobs that have another schedule than when the checkpoint was written. */
function renewedSchedules({ steering }: Checkpoint, schedule: Config['schedule']): KnobName[] {
  const before = steering?.schedules;
  if (before === undefined) return [];
  return keysOf(schedule).filter((knob) => JSON.stringify(schedule[knob]) !== JSON.stringify(before[knob]));
}

/** Changes that are not in the checkpoint's knobs. */
function changesSince(
  { steering }: Checkpoint,
  history: readonly KnobChange[],
  runId: string,
): readonly KnobChange[] {
  if (steering === null) return [];
  // A branch begins with the checkpoint of another run, and with a history without that run's.
  return history.slice(steering.run === runId ? steering.knobChanges : 0);
}
