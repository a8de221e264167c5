import { LabError } from '../domain/error.ts';
import type { RewardPart, RewardRule, RewardRules } from '../domain/reward.ts';

/** What one step is paid: the sum, and each component's share of it. */
export interface Payment {
  readonly reward: number;
  readonly parts: readonly RewardPart[];
}

/** Raw reward components by name. */
export type Components = Readonly<Record<string, number>>;

/**
 * Turns raw components into reward for one episode at a time: raw → × weight → bounded by what the component's cap
 * leaves. A slot keeps one and calls `reset` between episodes.
 */
export interface Aggregator {
  /**
   * Pays one step: `components` of the environment and, beside them, `penalties`. A raw value of 0 leaves no part.
   * `others`: components for agents that did not act, by agent; their parts say whose they are. A cap bounds what all agents of
   * an episode get for a component. Throws `environment-invalid` for a component without a rule or a raw value that is not finite.
   */
  pay(components: Components, penalties?: Components, others?: Readonly<Record<string, Components>>): Payment;
  /** What the episode was paid so far, by component; those never paid are absent. */
  totals(): Readonly<Record<string, number>>;
  /** Begins the next episode. */
  reset(): void;
}

/** A component's rule with what the running episode did to it. */
interface Account {
  readonly rule: RewardRule;
  /** Sum of the paid amounts. */
  total: number;
  /** Sum of their absolute values; this is what the cap bounds. */
  spent: number;
  paid: boolean;
}

const NOTHING: Components = Object.freeze({});
const NO_PAYMENT: Payment = Object.freeze({ reward: 0, parts: Object.freeze([]) });

/** An aggregator for these rules, at the start of an episode. */
export function createAggregator(rules: RewardRules): Aggregator {
  const accounts = new Map<string, Account>();
  for (const [name, rule] of Object.entries(rules)) {
    accounts.set(name, { rule, total: 0, spent: 0, paid: false });
  }
  const collect = (
    components: Components,
    parts: RewardPart[] | null,
    agent?: string,
  ): RewardPart[] | null => {
    let found = parts;
    for (const name in components) {
      const raw = components[name];
      if (raw === undefined || raw === 0) continue;
      const account = accounts.get(name);
      if (account === undefined) throw unknownComponent(name, rules);
      if (!Number.isFinite(raw)) throw notFinite(name, raw);
      found ??= [];
      const part = payOne(name, raw, account);
      found.push(agent === undefined ? part : { ...part, agent });
    }
    return found;
  };
  return {
    pay(components, penalties = NOTHING, others) {
      let parts = collect(penalties, collect(components, null));
      if (others !== undefined)
        for (const [agent, theirs] of Object.entries(others)) parts = collect(theirs, parts, agent);
      if (parts === null) return NO_PAYMENT;
      let reward = 0;
      for (const part of parts) reward += part.paid;
      return { reward, parts };
    },
    totals() {
      const totals: Record<string, number> = {};
      for (const [name, account] of accounts) {
        if (account.paid) totals[name] = account.total;
      }
      return totals;
    },
    reset() {
      for (const account of accounts.values()) {
        account.total = 0;
        account.spent = 0;
        account.paid = false;
      }
    },
  };
}

function payOne(name: string, raw: number, account: Account): RewardPart {
  const { weight, cap } = account.rule;
  const weighted = raw * weight;
  const size = Math.abs(weighted);
  const allowed = cap === null ? size : Math.min(size, Math.max(0, cap - account.spent));
  const paid = weighted < 0 ? -allowed : allowed;
  account.total += paid;
  account.spent += allowed;
  account.paid = true;
  return { name, raw, weighted, paid };
}

function unknownComponent(name: string, rules: RewardRules): LabError {
  return new LabError('environment-invalid', {
    message: `reward component "${name}" has no rule; there are rules for: ${Object.keys(rules).join(', ')}`,
    hint: `add rewards.${name} with a weight (0 pays nothing) and a cap to the config.`,
  });
}

function notFinite(name: string, raw: number): LabError {
  return new LabError('environment-invalid', {
    message: `reward component "${name}" is ${raw}; a raw component is a finite number`,
    hint: 'correct the environment that gave it.',
  });
}
