import type { ActionMode } from '../../src/domain/episode.ts';
import { LabError } from '../../src/domain/error.ts';
import type { RandomStream } from '../../src/domain/random.ts';

/** The log-probabilities of many rows and what is legal there, and where in them one row begins. */
export interface ActionRow {
  /** [rows, A] */
  readonly logProbabilities: Float32Array;
  /** [rows, A] */
  readonly mask: Int32Array | Float32Array;
  /** Element at which the row begins in both. */
  readonly at: number;
}

/**
 * The legal actions of one row after another, and how probable each is: one for all rows, since all that is asked of a row
 * needs the same exponentials.
 */
export class ActionChoice {
  readonly #size: number;
  /** Flat indices of the legal actions in their order, and their log-probabilities and probabilities. */
  readonly #indices: Int32Array;
  readonly #logs: Float64Array;
  readonly #probabilities: Float64Array;
  #count = 0;

  /** `size` is the number A of actions. */
  constructor(size: number) {
    this.#size = size;
    this.#indices = new Int32Array(size);
    this.#logs = new Float64Array(size);
    this.#probabilities = new Float64Array(size);
  }

  /** Number of legal actions. */
  get count(): number {
    return this.#count;
  }

  /** Flat index of the n-th legal action. */
  index(n: number): number {
    return this.#indices[n] ?? 0;
  }

  /** Its log-probability. */
  log(n: number): number {
    return this.#logs[n] ?? 0;
  }

  /** Its probability. */
  probability(n: number): number {
    return this.#probabilities[n] ?? 0;
  }

  /** Reads a row: all else is about it until the next. */
  read({ logProbabilities, mask, at }: ActionRow): void {
    const [indices, logs, probabilities] = [this.#indices, this.#logs, this.#probabilities];
    let count = 0;
    for (let i = 0; i < this.#size; i++) {
      if (!mask[at + i]) continue;
      const log = logProbabilities[at + i] ?? 0;
      indices[count] = i;
      logs[count] = log;
      probabilities[count++] = Math.exp(log);
    }
    this.#count = count;
  }

  /**
   * Which of the legal actions to take: drawn with one number of the stream, or the most probable (the first of equals). Throws
   * `environment-invalid` when none is legal.
   */
  choose(mode: ActionMode, random: RandomStream): number {
    if (this.#count === 0) {
      throw new LabError('environment-invalid', {
        message: 'an observation offers no action at all',
        hint: 'an environment must offer at least one legal action, or end the episode',
      });
    }
    return mode === 'greedy' ? this.#mostProbable() : this.#draw(random.next());
  }

  /** Entropy of the distribution over the legal actions, in nats. */
  entropy(): number {
    const [logs, probabilities] = [this.#logs, this.#probabilities];
    let entropy = 0;
    for (let n = 0; n < this.#count; n++) entropy -= (probabilities[n] ?? 0) * (logs[n] ?? 0);
    return entropy;
  }

  #mostProbable(): number {
    const logs = this.#logs;
    let best = 0;
    for (let n = 1; n < this.#count; n++) if ((logs[n] ?? 0) > (logs[best] ?? 0)) best = n;
    return best;
  }

  #draw(uniform: number): number {
    const probabilities = this.#probabilities;
    // The sum is not exactly 1: rounding, and probabilities held above e^-50.
    let total = 0;
    for (let n = 0; n < this.#count; n++) total += probabilities[n] ?? 0;
    let left = uniform * total;
    for (let n = 0; n < this.#count; n++) {
      left -= probabilities[n] ?? 0;
      if (left < 0) return n;
    }
    return this.#count - 1;
  }
}

/**
 * The index of the action to take, given the joint log-probabilities [A] and a mask [A] of what is legal. Never an illegal one,
 * whatever rounding leaves over. Throws `environment-invalid` when none is legal.
 */
export function chooseAction(
  logProbabilities: Float32Array,
  mask: Int32Array | Float32Array,
  mode: ActionMode,
  random: RandomStream,
): number {
  const choice = new ActionChoice(logProbabilities.length);
  choice.read({ logProbabilities, mask, at: 0 });
  return choice.index(choice.choose(mode, random));
}
