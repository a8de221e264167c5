import { deviationOf } from './advantages.ts';
import type { EpisodeSamples } from './batch.ts';
import { turnReturns } from './turn-advantages.ts';

/** Below this, returns do not vary, and rewards stay as they are. */
const SMALLEST_DEVIATION = 1e-6;

/**
 * What rewards are divided by: the deviation (unbiased) of the discounted returns Σ γ^t r_t of the newest episodes. The idea
 * is VecNormalize's of OpenAI's baselines; but a window forgets the returns of a policy that is long gone, and only whole
 * returns count, not every sum on the way. Nothing here changes, so that a dropped update leaves no trace: the trainer takes
 * over `after` a batch only together with the weights.
 */
export class RewardScale {
  /** Discounted returns of the newest episodes, oldest first: all that has to be kept to go on. */
  readonly window: readonly number[];
  readonly #size: number;
  readonly #gamma: number;

  /** `size` is the number of episodes; 0 is off. A longer window is cut to its newest. */
  constructor(size: number, gamma: number, window: readonly number[] = []) {
    this.#size = size;
    this.#gamma = gamma;
    this.window = size === 0 ? [] : window.slice(-size);
  }

  /** The scale that episodes, in order, make of this one; they are scaled by it themselves. */
  after(episodes: readonly Pick<EpisodeSamples, 'rewards' | 'turns'>[]): RewardScale {
    if (this.#size === 0) return this;
    // An episode of several agents is as many returns.
    const returns = episodes.flatMap(({ rewards, turns }) =>
      turns === undefined
        ? [discountedReturn(rewards, this.#gamma)]
        : turnReturns({ rewards, agents: turns.agents }, this.#gamma),
    );
    return new RewardScale(this.#size, this.#gamma, [...this.window, ...returns]);
  }

  /** 1 when it is off, and as long as returns do not vary. */
  get divisor(): number {
    const deviation = deviationOf(this.window);
    return deviation < SMALLEST_DEVIATION ? 1 : deviation;
  }
}

function discountedReturn(rewards: Float32Array, gamma: number): number {
  return rewards.reduceRight((sum, reward) => reward + gamma * sum, 0);
}
