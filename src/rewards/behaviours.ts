import { BEHAVIOUR_NAMES, type Behaviour } from '../domain/failure.ts';
import type { RewardPart, RewardRule, RewardRules } from '../domain/reward.ts';
import { type Action, formatAction } from '../domain/space.ts';
import { createPenaltyTracker } from './penalties.ts';

/** What the detectors look at in a step. */
export interface TracedStep {
  readonly action: Action;
  readonly effective: boolean;
  readonly parts: readonly RewardPart[];
}

/** An episode that came to its end. */
export interface EpisodeTrace {
  readonly steps: readonly TracedStep[];
  readonly success: boolean;
}

type Detector = (trace: EpisodeTrace, rules: RewardRules) => boolean;

const REPETITIONS = 3;
/** One in so many actions without effect is too many. */
const INVALID_ONE_IN = 3;
/** Slack for sums of floating-point payments. */
const EPSILON = 1e-9;

const DETECTORS: Readonly<Record<Behaviour, Detector>> = {
  loop: hasLoop,
  tool_thrash: hasToolThrash,
  reward_farming: hasRewardFarming,
  invalid_actions: hasInvalidActions,
  unread_submit: ({ steps }) =>
    steps.some(({ parts }) => parts.some((part) => part.name === 'unread_submit' && part.raw > 0)),
};

/**
 * What an episode did, beside how it ended: the behaviours of `src/domain/failure.ts` that it shows, in that table's
 * order. `rules` are those that paid it.
 */
export function findBehaviours(trace: EpisodeTrace, rules: RewardRules): Behaviour[] {
  return BEHAVIOUR_NAMES.filter((name) => DETECTORS[name](trace, rules));
}

/** One action taken without effect three times or more, whatever was done in between. */
function hasLoop({ steps }: EpisodeTrace): boolean {
  const counts = new Map<string, number>();
  for (const { action, effective } of steps) {
    if (effective) continue;
    const key = formatAction(action);
    const count = (counts.get(key) ?? 0) + 1;
    if (count >= REPETITIONS) return true;
    counts.set(key, count);
  }
  return false;
}

function hasToolThrash({ steps }: EpisodeTrace): boolean {
  const tracker = createPenaltyTracker();
  let switches = 0;
  for (const { action, effective } of steps) {
    if ('tool_switch' in tracker.observe(action, effective)) switches++;
  }
  return switches >= REPETITIONS;
}

/** Unsuccessful, and a component that pays for behaviour paid all that its cap allows. */
function hasRewardFarming({ steps, success }: EpisodeTrace, rules: RewardRules): boolean {
  if (success) return false;
  const paid = new Map<string, number>();
  for (const { parts } of steps) {
    for (const part of parts) paid.set(part.name, (paid.get(part.name) ?? 0) + part.paid);
  }
  for (const [name, total] of paid) {
    const rule: RewardRule | undefined = rules[name];
    if (rule !== undefined && rule.cap !== null && rule.weight > 0 && total >= rule.cap - EPSILON)
      return true;
  }
  return false;
}

function hasInvalidActions({ steps }: EpisodeTrace): boolean {
  let invalid = 0;
  for (const step of steps) if (!step.effective) invalid++;
  return invalid > 0 && invalid * INVALID_ONE_IN >= steps.length;
}
