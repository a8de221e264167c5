import { BEHAVIOUR_NAMES, type Behaviour } from '../domain/failure.ts';
import type { RewardPart, RewardRules } from '../domain/reward.ts';
import { type Action, formatAction } from '../domain/space.ts';
import type { Components } from './aggregator.ts';

/** What the detectors look at in a step. */
export interface TracedStep {
  readonly action: Action;
  readonly effective: boolean;
  readonly parts: readonly RewardPart[];
  /** Who took it, in an episode of several agents. */
  readonly agent?: string | undefined;
}

const REPETITIONS = 3;
/** One in so many actions without effect is too many. */
const INVALID_ONE_IN = 3;
/** Slack for sums of floating-point payments. */
const EPSILON = 1e-9;

/**
 * Watches one episode at a time for the behaviours of `src/domain/failure.ts`, step by step, so that nobody has to keep the
 * steps:
 * - `loop`: one action taken without effect three times or more, whatever was done in between;
 * - `tool_thrash`: three or more `tool_switch` penalties;
 * - `reward_farming`: unsuccessful, and a component that pays for behaviour paid all that its cap allows;
 * - `invalid_actions`: a third of the actions or more without effect;
 * - `unread_submit`: that component was given, whatever it was paid.
 */
export interface BehaviourTracker {
  /** Takes note of a step and of what the penalty tracker said of it. */
  observe(step: TracedStep, penalties: Components): void;
  /** What the episode showed so far, in the table's order, if this was its end. */
  find(success: boolean): Behaviour[];
  /** Begins the next episode. */
  reset(): void;
}

/** A tracker at the start of an episode; `rules` are those that pay it. A slot keeps one. */
export function createBehaviourTracker(rules: RewardRules): BehaviourTracker {
  return new Tracker(rules);
}

/** A component that pays for behaviour up to a cap, and what it was paid in this episode. */
interface Farmable {
  readonly cap: number;
  paid: number;
  isPaid: boolean;
}

class Tracker implements BehaviourTracker {
  #steps = 0;
  #ineffective = 0;
  #switches = 0;
  #looped = false;
  #unread = false;
  /** How often each action had no effect. */
  readonly #vain = new Map<string, number>();
  /** By name. Made once: a map that is emptied makes another table, and lives for an episode. */
  readonly #farmable = new Map<string, Farmable>();

  constructor(rules: RewardRules) {
    for (const [name, { cap, weight }] of Object.entries(rules)) {
      if (cap !== null && weight > 0) this.#farmable.set(name, { cap, paid: 0, isPaid: false });
    }
  }

  observe({ action, effective, parts, agent }: TracedStep, penalties: Components): void {
    this.#steps++;
    if ('tool_switch' in penalties) this.#switches++;
    for (const part of parts) {
      const farmable = this.#farmable.get(part.name);
      if (farmable !== undefined) {
        farmable.paid += part.paid;
        farmable.isPaid = true;
      }
      if (part.name === 'unread_submit' && part.raw > 0) this.#unread = true;
    }
    if (effective) return;
    this.#ineffective++;
    const key = agent === undefined ? formatAction(action) : `${agent}: ${formatAction(action)}`;
    const count = (this.#vain.get(key) ?? 0) + 1;
    this.#vain.set(key, count);
    if (count >= REPETITIONS) this.#looped = true;
  }

  find(success: boolean): Behaviour[] {
    const shown: Readonly<Record<Behaviour, boolean>> = {
      loop: this.#looped,
      tool_thrash: this.#switches >= REPETITIONS,
      reward_farming: !success && this.#hasFarmed(),
      invalid_actions: this.#ineffective > 0 && this.#ineffective * INVALID_ONE_IN >= this.#steps,
      unread_submit: this.#unread,
    };
    return BEHAVIOUR_NAMES.filter((name) => shown[name]);
  }

  reset(): void {
    this.#steps = 0;
    this.#ineffective = 0;
    this.#switches = 0;
    this.#looped = false;
    this.#unread = false;
    if (this.#vain.size > 0) this.#vain.clear();
    for (const farmable of this.#farmable.values()) {
      farmable.paid = 0;
      farmable.isPaid = false;
    }
  }

  #hasFarmed(): boolean {
    for (const { cap, paid, isPaid } of this.#farmable.values())
      if (isPaid && paid >= cap - EPSILON) return true;
    return false;
  }
}
