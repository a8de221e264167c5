import { expect, it } from 'vitest';
import { initialKnobs } from '../../src/domain/knob.ts';
import type { Checkpoint } from '../../src/run/checkpoint.ts';
import { applyConfigKnobs } from '../../src/run/config-knobs.ts';

const checkpoint: Checkpoint = {
  iteration: 40,
  elapsedS: 80,
  trainer: {
    policyVersion: 40,
    adamStep: 1920,
    knobs: { ...initialKnobs(), kl: 0.3, clip: 0.12 },
    random: [1, 2, 3, 4],
  },
  configKnobs: initialKnobs(),
  curriculum: { success: {}, random: [1, 2, 3, 4] },
  evaluations: [],
  weights: new Uint8Array(),
  optimiser: new Uint8Array(),
};

it('a resumed run keeps the knobs that were turned by hand or by the controller', () => {
  const { checkpoint: from, changes } = applyConfigKnobs(checkpoint, initialKnobs(), 5);
  expect(from.trainer.knobs).toEqual(checkpoint.trainer.knobs);
  expect(changes).toEqual([]);
});

it('a knob that was changed in the config since takes effect, and is recorded', () => {
  const { checkpoint: from, changes } = applyConfigKnobs(checkpoint, { ...initialKnobs(), clip: 0.3 }, 5);
  expect(from.trainer.knobs).toEqual({ ...checkpoint.trainer.knobs, clip: 0.3 });
  expect(changes).toEqual([
    { time: 5, who: 'config', knob: 'clip', from: 0.12, to: 0.3, iteration: 41, minibatch: 0 },
  ]);
});
