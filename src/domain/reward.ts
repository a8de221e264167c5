import { z } from 'zod';

/** Whether a reward may be trained on. Void: an infrastructure failure, nothing could be scored. */
export const REWARD_TRUSTS = ['valid', 'partial', 'void'] as const;
export type RewardTrust = (typeof REWARD_TRUSTS)[number];

/** One component's share in one step: raw → × weight → after the episode's cap. */
export const rewardPartSchema = z.object({
  name: z.string(),
  raw: z.number(),
  weighted: z.number(),
  paid: z.number(),
  /** Who was paid, where that is not the agent that acted. */
  agent: z.string().optional(),
});
export type RewardPart = Readonly<z.infer<typeof rewardPartSchema>>;

/** How a component is paid. `cap` bounds the absolute sum that one episode pays for it; null is no bound. */
export const rewardRuleSchema = z.strictObject({
  weight: z.number(),
  cap: z.number().positive().nullable(),
});
export type RewardRule = Readonly<z.infer<typeof rewardRuleSchema>>;
export type RewardRules = Readonly<Record<string, RewardRule>>;
