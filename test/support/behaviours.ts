import type { Behaviour } from '../../src/domain/failure.ts';
import type { RewardRules } from '../../src/domain/reward.ts';
import { createBehaviourTracker, type TracedStep } from '../../src/rewards/behaviours.ts';
import { createPenaltyTracker } from '../../src/rewards/penalties.ts';

/** An episode that came to its end. */
interface EpisodeTrace {
  readonly steps: readonly TracedStep[];
  readonly success: boolean;
}

/** What a whole episode did, beside how it ended. `rules` are those that paid it. */
export function findBehaviours({ steps, success }: EpisodeTrace, rules: RewardRules): Behaviour[] {
  const penalties = createPenaltyTracker();
  const tracker = createBehaviourTracker(rules);
  for (const step of steps) tracker.observe(step, penalties.observe(step.action, step.effective));
  return tracker.find(success);
}
