import type { Discounts } from './advantages.ts';

/** One episode's course in which several agents took turns: n steps in all. */
export interface TurnCourse {
  /** What each step's agent was paid from then on until its next step. */
  readonly rewards: Float32Array;
  /** The sampling policy's value estimates of what each step's agent saw before it. */
  readonly values: Float32Array;
  /** Whose step each is: a place in `finalValues`. */
  readonly agents: Uint8Array;
  /** V(s_T) of each agent: 0 when there is nothing to come. */
  readonly finalValues: readonly number[];
}

/**
 * Generalised advantage estimates of an episode of several agents, written to `out` from `offset` on. Each agent's own steps are a
 * course of their own, as with one agent (`writeAdvantages`): a discount lies between two turns of the same agent, however many of
 * the others' lie between them.
 */
export function writeTurnAdvantages(
  { rewards, values, agents, finalValues }: TurnCourse,
  { gamma, lambda }: Discounts,
  out: Float32Array,
  offset: number,
): void {
  const next = Float64Array.from(finalValues);
  const advantages = new Float64Array(finalValues.length);
  for (let t = rewards.length - 1; t >= 0; t--) {
    const agent = agents[t] ?? 0;
    const value = values[t] ?? 0;
    const delta = (rewards[t] ?? 0) + gamma * (next[agent] ?? 0) - value;
    const advantage = delta + gamma * lambda * (advantages[agent] ?? 0);
    advantages[agent] = advantage;
    out[offset + t] = advantage;
    next[agent] = value;
  }
}

/** Σ γ^k r_k of each agent that acted, k counting its own steps. */
export function turnReturns(
  { rewards, agents }: Pick<TurnCourse, 'rewards' | 'agents'>,
  gamma: number,
): number[] {
  const returns = new Map<number, number>();
  for (let t = rewards.length - 1; t >= 0; t--) {
    const agent = agents[t] ?? 0;
    returns.set(agent, (rewards[t] ?? 0) + gamma * (returns.get(agent) ?? 0));
  }
  return [...returns].toSorted(([a], [b]) => a - b).map(([, total]) => total);
}
