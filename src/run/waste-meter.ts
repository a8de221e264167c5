import type { EpisodeSummary } from '../domain/episode.ts';
import type { Waste } from '../domain/pipeline.ts';

type Outcome = Pick<EpisodeSummary, 'wallMs' | 'trust' | 'success' | 'truncated'>;

/**
 * What became of the time that training episodes took, in this attempt of the run. Each episode's time is in exactly one part;
 * one that was cut short and is then left out of batches counts as left out.
 */
export class WasteMeter {
  readonly #ms: Record<keyof Waste, number> = { useful: 0, stale: 0, void: 0, truncated: 0, retried: 0 };

  /** In slot-seconds. */
  get waste(): Waste {
    const { useful, stale, void: unscored, truncated, retried } = this.#ms;
    return {
      useful: useful / 1000,
      stale: stale / 1000,
      void: unscored / 1000,
      truncated: truncated / 1000,
      retried: retried / 1000,
    };
  }

  /** An episode has been stored. */
  addStored(outcome: Outcome): void {
    this.#ms[kindOf(outcome)] += outcome.wallMs;
  }

  /** A stored episode was left out of batches. */
  addLeftOut(outcome: Outcome): void {
    this.#ms[kindOf(outcome)] -= outcome.wallMs;
    this.#ms.stale += outcome.wallMs;
  }

  /** Episodes that were so long in flight, in sum, will be done again. */
  addRetried(ms: number): void {
    this.#ms.retried += ms;
  }
}

/** An episode that reaches its limit and succeeds all the same was meant to last so long. */
function kindOf({ trust, success, truncated }: Outcome): 'useful' | 'void' | 'truncated' {
  if (trust === 'void') return 'void';
  return truncated && !success ? 'truncated' : 'useful';
}
