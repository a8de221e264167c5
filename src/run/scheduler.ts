import type { Assignment } from '../domain/episode.ts';
import { type EpisodeId, episodeId } from '../domain/id.ts';
import { deriveSeed } from '../domain/random.ts';
import type { TaskRef } from '../domain/task.ts';

/** What to try and why; the scheduler adds id and attempt, and the seed unless it is to be a certain one. */
export type Plan = Pick<Assignment, 'phase' | 'mode' | 'iteration'> & {
  readonly task: TaskRef;
  readonly seed?: number | undefined;
};

interface InFlight {
  readonly assignment: Assignment;
  readonly worker: number;
  /** When it was given out, by the scheduler's clock. */
  readonly since: number;
}

/** A task to be tried again with another seed. */
interface Variant {
  readonly plan: Plan;
  readonly attempt: number;
  readonly failures: number;
}

/**
 * Numbers episodes, knows which worker has which, and gives lost ones out again under the same id. An episode is
 * complete once: a second delivery of the same id is refused.
 */
export class Scheduler {
  readonly #seed: number;
  #sequence: number;
  readonly #inFlight = new Map<EpisodeId, InFlight>();
  #lost: Assignment[] = [];
  /** Workers that died, nobody knows of what, while they had the episode. */
  readonly #deaths = new Map<EpisodeId, number>();
  /** Tasks that came to nothing and are to be tried again, oldest first. */
  readonly #variants: Variant[] = [];
  /** How often the task of an episode in flight came to nothing before; only where it did. */
  readonly #failures = new Map<EpisodeId, number>();
  #retried = 0;

  readonly #clock: () => number;

  /**
   * `lastSequence` is the highest dispatch number that any episode of the run has had. `clock` gives seconds in which episodes
   * may move on.
   */
  constructor(seed: number, lastSequence: number, clock: () => number = () => performance.now() / 1000) {
    this.#seed = seed;
    this.#sequence = lastSequence;
    this.#clock = clock;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Tasks that were given out again after they came to nothing. */
  get retried(): number {
    return this.#retried;
  }

  /** Gives a new episode to a worker. */
  assign(plan: Plan, worker: number, attempt = 1): Assignment {
    const id = episodeId(++this.#sequence);
    const assignment: Assignment = {
      ...plan,
      id,
      seed: plan.seed ?? deriveSeed(this.#seed, 'episode', this.#sequence),
      attempt,
    };
    this.#inFlight.set(id, { assignment, worker, since: this.#clock() });
    return assignment;
  }

  /** Gives a lost episode of this phase to a worker, if there is one. */
  reassign(worker: number, phase: Assignment['phase'] | null): Assignment | null {
    const at = this.#lost.findIndex((lost) => phase === null || lost.phase === phase);
    const [lost] = at < 0 ? [] : this.#lost.splice(at, 1);
    if (lost === undefined) return null;
    const assignment = { ...lost, attempt: lost.attempt + 1 };
    this.#inFlight.set(assignment.id, { assignment, worker, since: this.#clock() });
    return assignment;
  }

  /**
   * An episode in flight at a worker turned out void: its task shall be tried again, with another seed and under another id,
   * unless it came to nothing `most` times before. To be called before `complete`. Returns whether it will be.
   */
  retry(id: EpisodeId, worker: number, most: number): boolean {
    const entry = this.#inFlight.get(id);
    const failures = this.#failures.get(id) ?? 0;
    if (entry?.worker !== worker || failures >= most) return false;
    const { task, phase, mode, iteration, attempt } = entry.assignment;
    this.#variants.push({
      plan: { task, phase, mode, iteration },
      attempt: attempt + 1,
      failures: failures + 1,
    });
    return true;
  }

  /** Gives a task of this phase that is to be tried again to a worker, for this iteration; null if there is none. */
  assignVariant(worker: number, phase: Assignment['phase'], iteration: number): Assignment | null {
    const at = this.#variants.findIndex(({ plan }) => plan.phase === phase);
    const [variant] = at < 0 ? [] : this.#variants.splice(at, 1);
    if (variant === undefined) return null;
    this.#retried++;
    const assignment = this.assign({ ...variant.plan, iteration }, worker, variant.attempt);
    this.#failures.set(assignment.id, variant.failures);
    return assignment;
  }

  /** A worker delivered this episode. Returns false for one that is not in flight there: a duplicate, to be ignored. */
  complete(id: EpisodeId, worker: number): boolean {
    const entry = this.#inFlight.get(id);
    if (entry === undefined || entry.worker !== worker) return false;
    this.#inFlight.delete(id);
    this.#deaths.delete(id);
    this.#failures.delete(id);
    return true;
  }

  /** The assignment of an episode that is in flight. */
  find(id: EpisodeId): Assignment | null {
    return this.#inFlight.get(id)?.assignment ?? null;
  }

  /** What a worker has in flight. */
  at(worker: number): Assignment[] {
    return [...this.#inFlight.values()]
      .filter((entry) => entry.worker === worker)
      .map(({ assignment }) => assignment);
  }

  /** How many a worker has in flight. */
  countAt(worker: number): number {
    let count = 0;
    for (const entry of this.#inFlight.values()) count += Number(entry.worker === worker);
    return count;
  }

  /** Seconds since the training episodes at a worker were given out, in sum. */
  spentS(worker: number): number {
    const now = this.#clock();
    let spent = 0;
    for (const entry of this.#inFlight.values()) {
      if (entry.worker === worker && entry.assignment.phase === 'train') spent += now - entry.since;
    }
    return spent;
  }

  /** How many workers died with an episode, nobody knows of what. */
  deaths(id: EpisodeId): number {
    return this.#deaths.get(id) ?? 0;
  }

  /** A worker died, and any of its episodes may be the reason. */
  suspect(worker: number): void {
    for (const { id } of this.at(worker)) this.#deaths.set(id, this.deaths(id) + 1);
  }

  /** A worker is gone: what it had in flight will be given out again. Returns how many. */
  lose(worker: number): number {
    const lost = this.at(worker);
    for (const { id } of lost) this.#inFlight.delete(id);
    this.#lost.push(...lost);
    return lost.length;
  }
}
