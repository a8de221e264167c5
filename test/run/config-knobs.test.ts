import { describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { initialKnobs, type KnobName } from '../../src/domain/knob.ts';
import type { KnobChange } from '../../src/domain/run.ts';
import type { Checkpoint } from '../../src/run/checkpoint.ts';
import { startingKnobs } from '../../src/run/config-knobs.ts';
import { KnobHistory } from '../../src/run/knob-history.ts';

const AT = { runId: 'demo-1', time: 5 };

const checkpoint: Checkpoint = {
  iteration: 40,
  elapsedS: 80,
  trainer: {
    policyVersion: 40,
    adamStep: 1920,
    knobs: { ...initialKnobs(), kl: 0.3, clip: 0.12 },
    random: [1, 2, 3, 4],
    rewardWindow: [],
  },
  configKnobs: initialKnobs(),
  steering: {
    run: 'demo-1',
    knobChanges: 1,
    scheduleOff: [],
    scheduleTime: { minutes: 3, steps: 900 },
    scheduleBase: { minutes: 0, steps: 0 },
  },
  curriculum: { success: {}, random: [1, 2, 3, 4] },
  evaluations: [],
  weights: new Uint8Array(),
  optimiser: new Uint8Array(),
};

function change(knob: KnobName, from: number, to: number, who = 'ann@host'): KnobChange {
  return { time: 1, who, knob, from, to, iteration: 44, minibatch: 2, undo: false };
}
const SEEN = change('clip', 0.2, 0.12);

describe('the knobs of a resumed run', () => {
  it('are those that were turned by hand or by the controller', () => {
    const {
      checkpoint: from,
      changes,
      restored,
    } = startingKnobs(checkpoint, { knobs: initialKnobs(), schedule: {} }, [SEEN], AT);
    expect(from.trainer.knobs).toEqual(checkpoint.trainer.knobs);
    expect(changes).toEqual([]);
    expect(restored).toEqual([]);
  });

  it('take over what was changed in the config since, and record it', () => {
    const config = { ...initialKnobs(), clip: 0.3 };
    const { checkpoint: from, changes } = startingKnobs(
      checkpoint,
      { knobs: config, schedule: {} },
      [SEEN],
      AT,
    );
    expect(from.trainer.knobs).toEqual({ ...checkpoint.trainer.knobs, clip: 0.3 });
    expect(changes).toEqual([
      { time: 5, who: 'config', knob: 'clip', from: 0.12, to: 0.3, iteration: 41, minibatch: 0, undo: false },
    ]);
  });

  it('keep turns that were acknowledged after the checkpoint, but not those of the schedule', () => {
    const late = [
      change('lr', 0.001, 0.0004),
      change('entropy', 0.01, 0.002, 'schedule'),
      change('lr', 0.0004, 0.0002, 'guard'),
    ];
    const { checkpoint: from, restored } = startingKnobs(
      checkpoint,
      { knobs: initialKnobs(), schedule: {} },
      [SEEN, ...late],
      AT,
    );
    expect(from.trainer.knobs).toEqual({ ...checkpoint.trainer.knobs, lr: 0.0002 });
    expect(restored).toEqual([late[0], late[2]]);
  });

  it('do not take the same change of the config over twice, so that a turn after it holds', () => {
    const config = { ...initialKnobs(), lr: 0.01 };
    const late = [change('lr', 0.001, 0.01, 'config'), change('lr', 0.01, 0.02)];
    const { checkpoint: from, changes } = startingKnobs(
      checkpoint,
      { knobs: config, schedule: {} },
      [SEEN, ...late],
      AT,
    );
    expect(from.trainer.knobs.lr).toBe(0.02);
    expect(changes).toEqual([]);
  });

  it('of a branch are its own: what it has stored itself counts from the first', () => {
    const branch = { ...AT, runId: 'branch-1' };
    const { checkpoint: from } = startingKnobs(
      checkpoint,
      { knobs: initialKnobs(), schedule: {} },
      [change('kl', 0.3, 0.7)],
      branch,
    );
    expect(from.trainer.knobs).toMatchObject({ kl: 0.7, clip: 0.12 });
  });

  it('follow a schedule that is new or another than before, even where somebody had ended the old one', () => {
    const before = configSchema.parse({
      schedule: { lr: { points: [[0, 0.001]] }, clip: { points: [[0, 0.2]] } },
    });
    const now = configSchema.parse({
      schedule: { lr: { points: [[0, 0.0001]] }, clip: { points: [[0, 0.2]] } },
    });
    const steering = { ...checkpoint.steering!, scheduleOff: ['lr' as const], schedules: before.schedule };
    const { changes } = startingKnobs({ ...checkpoint, steering }, now, [SEEN], AT);
    expect(changes).toMatchObject([{ who: 'schedule', knob: 'lr', from: 0.001, to: 0.001 }]);
    const history = new KnobHistory(['lr', 'clip'], ['lr']);
    for (const each of changes) history.add(each);
    expect(history.scheduled.toSorted()).toEqual(['clip', 'lr']);
    expect(startingKnobs({ ...checkpoint, steering }, before, [SEEN], AT).changes).toEqual([]);
  });
});
