import { describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/domain/task.ts';
import { EvaluationRound, planEvaluation } from '../../src/evaluation/evaluate.ts';
import { episodeSummary } from '../support/summary.ts';

const catalog: Catalog = {
  env: 'workbench',
  version: '1',
  maxSteps: 30,
  families: [
    { name: 'a', train: 10, heldOut: 3 },
    { name: 'b', train: 10, heldOut: 3 },
    { name: 'untested', train: 10, heldOut: 0 },
  ],
};

describe('an evaluation', () => {
  it('deals held-out tasks evenly over the families, in both action modes', () => {
    const plans = planEvaluation(catalog, 6);
    expect(plans).toHaveLength(12);
    for (const mode of ['sampled', 'greedy']) {
      const tasks = plans
        .filter((plan) => plan.mode === mode)
        .map(({ task }) => `${task.family}${task.index}`);
      expect(tasks.toSorted()).toEqual(['a0', 'a1', 'a2', 'b0', 'b1', 'b2']);
    }
    expect(plans.every(({ task }) => task.split === 'held_out')).toBe(true);
  });

  it('counts success by family, and void episodes not at all', () => {
    const round = new EvaluationRound(8, 8, 4);
    const add = (family: string, success: boolean, trust: 'valid' | 'void' = 'valid') =>
      round.add(
        episodeSummary({
          task: { env: 'workbench', family, split: 'held_out', index: 0 },
          phase: 'eval',
          mode: 'greedy',
          success,
          failure: success ? null : 'wrong_result',
          trust,
        }),
      );
    add('a', true);
    add('a', false);
    add('b', true);
    expect(round.done).toBe(false);
    add('b', false, 'void');
    expect(round.done).toBe(true);
    expect(round.results()).toEqual([
      {
        iteration: 8,
        policyVersion: 8,
        mode: 'greedy',
        episodes: 3,
        success: 2 / 3,
        byFamily: { a: 0.5, b: 1 },
      },
    ]);
  });
});
