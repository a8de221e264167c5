import { describe, expect, it } from 'vitest';
import { findImpossible } from '../../src/config/budgets.ts';
import { loadConfig } from '../../src/config/load.ts';
import { parseOverride } from '../../src/config/overrides.ts';
import { configSchema } from '../../src/config/schema.ts';

function problems(config: object): string[] {
  return findImpossible(configSchema.parse(config), null).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  );
}

it('a knob that follows a schedule cannot be set on the command line: the schedule would set it again', () => {
  const text = 'schedule: { lr: { points: [[0, 0.001], [100, 0.0001]] } }';
  const set = { path: ['knobs', 'lr'], value: 0.003 };
  expect(() => loadConfig(text, { file: 'lab.yaml', overrides: [set] })).toThrow(
    'command line: knobs.lr: follows schedule.lr, which would set it again: wanted --set "schedule.lr.points=[[0, 0.003]]"',
  );
  const points = parseOverride('schedule.lr.points=[[0, 0.003]]');
  const { config } = loadConfig(text, { file: 'lab.yaml', overrides: [points] });
  expect(config.schedule.lr?.points).toEqual([[0, 0.003]]);
});

describe('a schedule that cannot work', () => {
  const kl = {
    points: [
      [0, 0.1],
      [100, 0.01],
    ],
  };

  it('of the KL coefficient is refused while the adaptive controller moves it too', () => {
    expect(problems({ schedule: { kl } })).toEqual([
      'schedule.kl: moves the KL coefficient, and so does the adaptive controller at a target of 0.02: wanted knobs.kl_target 0, or no schedule',
    ]);
    expect(problems({ schedule: { kl }, knobs: { kl_target: 0 } })).toEqual([]);
  });

  it('nor may a schedule turn that controller on', () => {
    const kl_target = {
      points: [
        [0, 0],
        [50, 0.03],
      ],
    };
    expect(problems({ schedule: { kl, kl_target }, knobs: { kl_target: 0 } })).toHaveLength(1);
    expect(problems({ schedule: { kl_target } })).toEqual([]);
  });

  it('of minibatches larger than a batch is refused, naming the point', () => {
    const minibatch = {
      points: [
        [0, 512],
        [9, 16_384],
      ],
      shape: 'step',
    };
    expect(problems({ schedule: { minibatch } })).toEqual([
      'schedule.minibatch.points.1: 16384 is more than sampling.batchSteps, 8192: a minibatch is a part of a batch',
    ]);
  });
});

it('an estimate of the KL that could never reach a limit is refused', () => {
  const [problem] = problems({ trainer: { klEstimator: 'k3', logRatioClamp: 0.3 } });
  expect(problem).toContain(
    'trainer.klEstimator: k3 is computed from log-ratios held within trainer.logRatioClamp, 0.3',
  );
  expect(problems({ trainer: { klEstimator: 'k3' } })).toEqual([]);
});
