import type { RewardTrust } from './reward.ts';
import { keysOf } from './table.ts';

/** How an episode came to its end, as far as the learner is concerned. */
export type FailureEnding = 'void' | 'truncated' | 'terminated';

export interface FailureKind {
  readonly ending: FailureEnding;
  /** One line for people. */
  readonly meaning: string;
}

/** The closed list of failure types. Exactly one per unsuccessful episode; a successful one has none. */
export const FAILURES = {
  env_crash: { ending: 'void', meaning: 'the environment threw or its process died' },
  env_timeout: { ending: 'void', meaning: 'a step or a reset passed the watchdog limit' },
  sandbox_error: { ending: 'void', meaning: 'the sandbox could not be made or kept' },
  tool_error: { ending: 'void', meaning: 'a tool failed for reasons that the policy cannot cause' },
  inference_error: { ending: 'void', meaning: 'the policy could not be evaluated' },
  max_steps: { ending: 'truncated', meaning: 'the step limit fired' },
  wall_clock: { ending: 'truncated', meaning: "the episode's time limit fired" },
  context_limit: { ending: 'truncated', meaning: 'the observation no longer fits' },
  premature_submit: { ending: 'terminated', meaning: 'submitted before the work was under way' },
  wrong_result: { ending: 'terminated', meaning: 'submitted, and the result is not what was asked' },
  gave_up: { ending: 'terminated', meaning: 'ended the episode without a result' },
} as const satisfies Record<string, FailureKind>;

export type FailureType = keyof typeof FAILURES;
export const FAILURE_TYPES = keysOf(FAILURES);

/** What the environment was at, or had just done, when an episode failed of it. */
export const FAILURE_STAGES = ['build', 'reset', 'step', 'close'] as const;
export type FailureStage = (typeof FAILURE_STAGES)[number];

/** Failure types that an environment itself may report with a terminated step. */
export const TERMINATED_FAILURES = [
  'premature_submit',
  'wrong_result',
  'gave_up',
] as const satisfies readonly FailureType[];
export type TerminatedFailure = (typeof TERMINATED_FAILURES)[number];

/** Whether an episode that failed so may be trained on. */
export function failureTrust(failure: FailureType | null): RewardTrust {
  return failure !== null && FAILURES[failure].ending === 'void' ? 'void' : 'valid';
}

/** What an episode did, beside how it ended; any number per episode. */
export const BEHAVIOURS = {
  loop: 'repeated an action without effect three times or more',
  tool_thrash: 'selected tools three times or more without using them',
  reward_farming: 'reached the cap of a process reward and did not succeed',
  invalid_actions: 'a third of its actions or more had no effect',
  unread_submit: 'submitted before reading what the task needs',
} as const;
export type Behaviour = keyof typeof BEHAVIOURS;
export const BEHAVIOUR_NAMES = keysOf(BEHAVIOURS);
