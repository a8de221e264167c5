import { KNOB_NAMES, type KnobValues } from '../domain/knob.ts';
import type { KnobChange } from '../domain/run.ts';
import type { Checkpoint } from './checkpoint.ts';

/**
 * A run goes on with its checkpoint's knobs, turned by hand or not, except those whose value in the config is another than
 * when the checkpoint was written: somebody has changed the config since, and means it. Returns the checkpoint to go on
 * from, and what that changes.
 */
export function applyConfigKnobs(
  checkpoint: Checkpoint,
  config: KnobValues,
  time: number,
): { readonly checkpoint: Checkpoint; readonly changes: readonly KnobChange[] } {
  const { knobs } = checkpoint.trainer;
  const changed = KNOB_NAMES.filter((knob) => config[knob] !== checkpoint.configKnobs[knob]);
  const changes = changed.map((knob) => ({
    time,
    who: 'config',
    knob,
    from: knobs[knob],
    to: config[knob],
    iteration: checkpoint.iteration + 1,
    minibatch: 0,
  }));
  const values = { ...knobs };
  for (const { knob, to } of changes) values[knob] = to;
  return { checkpoint: { ...checkpoint, trainer: { ...checkpoint.trainer, knobs: values } }, changes };
}
