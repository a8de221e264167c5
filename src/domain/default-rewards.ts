import type { RewardRule } from './reward.ts';

/** How each reward component is paid when the config is silent. Caps bound what one episode pays, in absolute sum. */
export const DEFAULT_REWARDS = {
  success: { weight: 1, cap: null },
  progress: { weight: 0.04, cap: 0.4 },
  repeat: { weight: -0.01, cap: 0.15 },
  tool_switch: { weight: -0.01, cap: 0.1 },
  type_switch: { weight: -0.005, cap: 0.1 },
  wrong_submit: { weight: -0.1, cap: null },
  unread_submit: { weight: -0.3, cap: null },
} as const satisfies Record<string, RewardRule>;
