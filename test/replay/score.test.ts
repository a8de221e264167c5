import { expect, test } from 'vitest';
import type { Verdict } from '../../src/replay/compare.ts';
import { scoresOf, sumTools } from '../../src/replay/score.ts';
import { episodeSummary } from '../support/summary.ts';

function result(host: string, family: string, verdict: Verdict): Parameters<typeof scoresOf>[0][number] {
  const summary = episodeSummary();
  return {
    episode: { ...summary, host, task: { ...summary.task, family } },
    comparison: { verdict, reason: '', differences: [], notes: [] },
  };
}

test('the score is the share that came to the same, of all and by environment, family and host', () => {
  const scores = scoresOf([
    result('b', 'ordered', 'identical'),
    result('a', 'ordered', 'cosmetic'),
    result('b', 'reference', 'tool drift'),
    result('b', 'reference', 'environment drift'),
  ]);
  expect(scores.map(({ of, episodes, score }) => [of, episodes, score])).toEqual([
    ['all', 4, 0.5],
    [`environment ${episodeSummary().task.env}`, 4, 0.5],
    ['family ordered', 2, 1],
    ['family reference', 2, 0],
    ['host a', 1, 1],
    ['host b', 3, 1 / 3],
  ]);
  expect(scores[0]?.verdicts).toEqual({
    identical: 1,
    cosmetic: 1,
    'environment drift': 1,
    'tool drift': 1,
    'policy drift': 0,
    broken: 0,
  });
});

test('uses of the same tool are added up', () => {
  expect(
    sumTools([
      { tool: 'move', calls: 2, same: 1 },
      { tool: 'copy', calls: 1, same: 1 },
      { tool: 'move', calls: 1, same: 1 },
    ]),
  ).toEqual([
    { tool: 'copy', calls: 1, same: 1 },
    { tool: 'move', calls: 3, same: 2 },
  ]);
});
