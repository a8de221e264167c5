import type { Assignment, EpisodeSummary } from '../domain/episode.ts';
import { LabError } from '../domain/error.ts';
import type { EpisodeId } from '../domain/id.ts';
import { deriveSeed } from '../domain/random.ts';
import type { Evaluation } from '../domain/run.ts';
import type { Catalog } from '../domain/task.ts';
import { type EvaluationPlan, EvaluationRound, planEvaluation } from '../evaluation/evaluate.ts';
import { Curriculum, type CurriculumOptions, type CurriculumState } from './curriculum.ts';
import { Scheduler } from './scheduler.ts';

export interface DispatcherOptions {
  readonly seed: number;
  /** Highest dispatch number that any episode of the run has had. */
  readonly lastSequence: number;
  readonly curriculum: CurriculumOptions;
  readonly curriculumState: CurriculumState | null;
  /** Held-out episodes of an evaluation, in each action mode. */
  readonly evaluationEpisodes: number;
  /** Seconds in which episodes may move on. */
  readonly clock: () => number;
  /** How often a task is tried again, with another seed, after its episode was void. */
  readonly retries: number;
}

/** Decides which episode comes next: lost ones first, then those of a running evaluation, else training tasks. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #scheduler: Scheduler;
  #catalog: Catalog | null = null;
  #curriculum: Curriculum | null = null;
  #round: EvaluationRound | null = null;
  #roundIteration = 0;
  #plans: EvaluationPlan[] = [];

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#scheduler = new Scheduler(options.seed, options.lastSequence, options.clock);
  }

  /** Known from the first ready worker on. */
  get ready(): boolean {
    return this.#catalog !== null;
  }

  get inFlight(): number {
    return this.#scheduler.inFlight;
  }

  /** How many episodes a worker has. */
  inFlightAt(worker: number): number {
    return this.#scheduler.countAt(worker);
  }

  /** Tasks that were given out again after a void episode. */
  get retried(): number {
    return this.#scheduler.retried;
  }

  get evaluating(): boolean {
    return this.#round !== null;
  }

  /** Every worker announces what its environment offers; they must agree. */
  setCatalog(catalog: Catalog): void {
    if (this.#catalog !== null) {
      if (JSON.stringify(this.#catalog) === JSON.stringify(catalog)) return;
      throw new LabError('environment-invalid', {
        message: `workers offer different versions of environment ${catalog.env}: ${this.#catalog.version} and ${catalog.version}`,
        hint: 'install the same version of agentrl-lab on every host',
      });
    }
    this.#catalog = catalog;
    const { seed, curriculum, curriculumState } = this.#options;
    this.#curriculum = new Curriculum(catalog, curriculum, curriculumState ?? deriveSeed(seed, 'curriculum'));
  }

  /** The next episode for a worker, or null when there is none to give; `training` allows training episodes. */
  next(worker: number, iteration: number, training: boolean): Assignment | null {
    if (this.#curriculum === null) return null;
    if (this.#round !== null) {
      const again =
        this.#scheduler.reassign(worker, 'eval') ??
        this.#scheduler.assignVariant(worker, 'eval', this.#roundIteration);
      if (again !== null) return again;
      const plan = this.#plans.shift();
      if (plan === undefined) return null;
      return this.#scheduler.assign({ ...plan, phase: 'eval', iteration: this.#roundIteration }, worker);
    }
    if (!training) return null;
    return (
      this.#scheduler.reassign(worker, 'train') ??
      this.#scheduler.assignVariant(worker, 'train', iteration) ??
      this.#scheduler.assign(
        { task: this.#curriculum.next(), phase: 'train', mode: 'sampled', iteration },
        worker,
      )
    );
  }

  /** Takes note of a delivered episode. False for one that is not in flight at that worker: a duplicate. */
  complete(summary: EpisodeSummary, worker: number): boolean {
    const isVoid = summary.trust === 'void';
    // Another one comes in its place: the curriculum has as many of each family as it drew, the evaluation as it planned.
    const isRetried = isVoid && this.#scheduler.retry(summary.id, worker, this.#options.retries);
    if (!this.#scheduler.complete(summary.id, worker)) return false;
    if (summary.phase === 'eval') {
      if (!isRetried) this.#round?.add(summary);
    } else if (!isVoid) this.#curriculum?.observe(summary.task.family, summary.success);
    return true;
  }

  find(id: EpisodeId): Assignment | null {
    return this.#scheduler.find(id);
  }

  /** A worker died, and any of its episodes may be the reason: gives those that were with `most` such workers. */
  suspects(worker: number, most: number): Assignment[] {
    this.#scheduler.suspect(worker);
    return this.#scheduler.at(worker).filter(({ id }) => this.#scheduler.deaths(id) >= most);
  }

  /** Seconds since the training episodes at a worker were given out, in sum. */
  spentS(worker: number): number {
    return this.#scheduler.spentS(worker);
  }

  /** A worker is gone; what it had will be given out again. Returns how many episodes that are. */
  lose(worker: number): number {
    return this.#scheduler.lose(worker);
  }

  /** Begins an evaluation: from now on only its episodes are given out. False when there is nothing to evaluate. */
  beginEvaluation(iteration: number, policyVersion: number): boolean {
    if (this.#catalog === null) return false;
    this.#plans = planEvaluation(this.#catalog, this.#options.evaluationEpisodes);
    if (this.#plans.length === 0) return false;
    this.#roundIteration = iteration;
    this.#round = new EvaluationRound(iteration, policyVersion, this.#plans.length);
    return true;
  }

  /** The results of the evaluation, once, when its last episode is in; else null. */
  takeEvaluation(): Evaluation[] | null {
    if (this.#round === null || !this.#round.done) return null;
    const results = this.#round.results();
    this.#round = null;
    return results;
  }

  curriculumState(): CurriculumState | null {
    return this.#curriculum?.getState() ?? null;
  }
}
