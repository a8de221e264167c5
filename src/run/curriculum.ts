import { z } from 'zod';
import { createRandom, type RandomStream, resumeRandom } from '../domain/random.ts';
import type { Catalog, TaskRef } from '../domain/task.ts';

export interface CurriculumOptions {
  /** Draw families by how often they still fail; false: every family equally. */
  readonly adapt: boolean;
  /** Least share of a family, as a part of its equal share; in [0, 1]. */
  readonly floor: number;
}

export const curriculumStateSchema = z.object({
  success: z.record(z.string(), z.number()),
  random: z.array(z.number()).length(4),
});
export type CurriculumState = Readonly<z.infer<typeof curriculumStateSchema>>;

/** Weight of the newest episode in a family's running success rate. */
const SMOOTHING = 0.01;

/**
 * Chooses which training task comes next. A family's weight is its failure rate (1 − running success), never below
 * `floor`; a family starts at success 0. Within a family tasks are drawn uniformly.
 */
export class Curriculum {
  readonly #catalog: Catalog;
  readonly #options: CurriculumOptions;
  readonly #random: RandomStream;
  readonly #success = new Map<string, number>();

  constructor(catalog: Catalog, options: CurriculumOptions, start: number | CurriculumState) {
    this.#catalog = catalog;
    this.#options = options;
    this.#random = typeof start === 'number' ? createRandom(start) : resumeRandom(start.random);
    for (const { name } of catalog.families) {
      this.#success.set(name, typeof start === 'number' ? 0 : (start.success[name] ?? 0));
    }
  }

  /** The next training task. */
  next(): TaskRef {
    const families = this.#catalog.families.filter((family) => family.train > 0);
    const weights = families.map(({ name }) => this.#weight(name));
    let draw = this.#random.next() * weights.reduce((sum, weight) => sum + weight, 0);
    let chosen = families.length - 1;
    for (const [index, weight] of weights.entries()) {
      draw -= weight;
      if (draw < 0) {
        chosen = index;
        break;
      }
    }
    const family = families[chosen];
    if (family === undefined) throw new RangeError(`${this.#catalog.env} has no training tasks`);
    return {
      env: this.#catalog.env,
      family: family.name,
      split: 'train',
      index: this.#random.integer(family.train),
    };
  }

  /** Takes note of a finished training episode. */
  observe(family: string, success: boolean): void {
    const before = this.#success.get(family) ?? 0;
    this.#success.set(family, before + SMOOTHING * (Number(success) - before));
  }

  getState(): CurriculumState {
    return { success: Object.fromEntries(this.#success), random: [...this.#random.getState()] };
  }

  #weight(family: string): number {
    if (!this.#options.adapt) return 1;
    return Math.max(this.#options.floor, 1 - (this.#success.get(family) ?? 0), 1e-6);
  }
}
