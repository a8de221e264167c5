import { expect, test } from 'vitest';
import { scoreOf } from '../../../bench/fragment-score.ts';
import { corridorGoal, corridorSettings } from '../../../bench/fragment-tasks.ts';

/*
 * The corridor names its right end only before its gate opens, so who does not remember can be right in half of the episodes
 * at most. The limits leave room for the few hundred episodes that are counted: 0.6 is four deviations away from a half.
 */

test('a GRU over a window learns what takes memory', async () => {
  const { success, episodes } = await scoreOf(corridorSettings('gru', 12, 1), corridorGoal);
  expect(episodes).toBeGreaterThan(200);
  expect(success).toBeGreaterThanOrEqual(0.95);
});

test.each(['gru', 'mlp'] as const)('no %s does that sees the newest observation alone', async (network) => {
  const { success, episodes } = await scoreOf(corridorSettings(network, 1, 1), corridorGoal);
  expect(episodes).toBeGreaterThan(200);
  expect(success).toBeLessThanOrEqual(0.6);
  // It has learnt to walk to an end, whichever: it fails by not knowing, not by standing still.
  expect(success).toBeGreaterThan(0.3);
});
