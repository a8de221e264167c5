import type { Assignment } from '../domain/episode.ts';
import { type EpisodeId, episodeId } from '../domain/id.ts';
import { deriveSeed } from '../domain/random.ts';
import type { TaskRef } from '../domain/task.ts';

/** What to try and why; the scheduler adds id, seed and attempt. */
export type Plan = Pick<Assignment, 'phase' | 'mode' | 'iteration'> & { readonly task: TaskRef };

interface InFlight {
  readonly assignment: Assignment;
  readonly worker: number;
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

  /** `lastSequence` is the highest dispatch number that any episode of the run has had. */
  constructor(seed: number, lastSequence: number) {
    this.#seed = seed;
    this.#sequence = lastSequence;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  get waiting(): number {
    return this.#lost.length;
  }

  /** Gives a new episode to a worker. */
  assign(plan: Plan, worker: number): Assignment {
    const id = episodeId(++this.#sequence);
    const assignment: Assignment = {
      ...plan,
      id,
      seed: deriveSeed(this.#seed, 'episode', this.#sequence),
      attempt: 1,
    };
    this.#inFlight.set(id, { assignment, worker });
    return assignment;
  }

  /** Gives a lost episode of this phase to a worker, if there is one. */
  reassign(worker: number, phase: Assignment['phase'] | null): Assignment | null {
    const at = this.#lost.findIndex((lost) => phase === null || lost.phase === phase);
    const [lost] = at < 0 ? [] : this.#lost.splice(at, 1);
    if (lost === undefined) return null;
    const assignment = { ...lost, attempt: lost.attempt + 1 };
    this.#inFlight.set(assignment.id, { assignment, worker });
    return assignment;
  }

  /** A worker delivered this episode. Returns false for one that is not in flight there: a duplicate, to be ignored. */
  complete(id: EpisodeId, worker: number): boolean {
    const entry = this.#inFlight.get(id);
    if (entry === undefined || entry.worker !== worker) return false;
    this.#inFlight.delete(id);
    return true;
  }

  /** The assignment of an episode that is in flight. */
  find(id: EpisodeId): Assignment | null {
    return this.#inFlight.get(id)?.assignment ?? null;
  }

  /** A worker is gone: what it had in flight will be given out again. Returns how many. */
  lose(worker: number): number {
    let count = 0;
    for (const [id, entry] of this.#inFlight) {
      if (entry.worker !== worker) continue;
      this.#inFlight.delete(id);
      this.#lost.push(entry.assignment);
      count++;
    }
    return count;
  }
}
