import { LabError } from '../../domain/error.ts';
import { nearest } from '../../domain/nearest.ts';
import { type Catalog, SPLITS, type Split, type TaskRef } from '../../domain/task.ts';
import type { Plan } from '../../run/scheduler.ts';

/** A task as `--task` names it: `FAMILY/SPLIT/INDEX`, and `@SEED` for an episode of a certain seed. */
export interface NamedTask {
  readonly family: string;
  readonly split: Split;
  readonly index: number;
  readonly seed: number | null;
}

/** Reads what `formatTask` wrote. Throws `usage`. */
export function parseTask(text: string): NamedTask {
  const [, family, splitName, index, seed] = /^(.+)\/([a-z_]+)\/(\d{1,9})(?:@(\d{1,10}))?$/u.exec(text) ?? [];
  const split = SPLITS.find((known) => known === splitName);
  if (family === undefined || split === undefined) {
    throw new LabError('usage', {
      message: `"${text}" does not name a task: wanted FAMILY/SPLIT/INDEX, the split one of ${SPLITS.join(', ')}`,
      hint: 'as in --task move_rename/train/17; with @SEED for the episode of that seed',
    });
  }
  return { family, split, index: Number(index), seed: seed === undefined ? null : Number(seed) };
}

/** `move_rename/train/17@123`. */
export function formatTask({ family, split, index }: TaskRef, seed: number): string {
  return `${family}/${split}/${index}@${seed}`;
}

/** One task in so many of a family is a held-out one: they must work too, and a run would find it late. */
const HELD_OUT_EVERY = 8;

/**
 * Which tasks a bench tries, `total` in all: the families in turn; in each its tasks in their order, from the first again
 * after the last.
 */
export class TaskPlan {
  readonly total: number;
  readonly #catalog: Catalog;
  readonly #only: NamedTask | null;
  #given = 0;

  /** `only`: that task each time. Throws `environment-invalid` when there are no tasks, `usage` when there is none such. */
  constructor(catalog: Catalog, total: number, only: NamedTask | null) {
    const families = catalog.families.filter(({ train, heldOut }) => train + heldOut > 0);
    if (families.length === 0) {
      throw new LabError('environment-invalid', {
        message: `environment ${catalog.env} has no tasks: its catalog says 0 train and 0 heldOut for every family`,
        hint: 'docs/ENVIRONMENTS.md says what a catalog holds',
      });
    }
    if (only !== null) refuseUnknown(catalog, only);
    this.#catalog = { ...catalog, families };
    this.#only = only;
    this.total = total;
  }

  /** The next one, or null when all were given out. */
  next(): Plan | null {
    if (this.#given >= this.total) return null;
    const { env } = this.#catalog;
    if (this.#only !== null) {
      this.#given++;
      const { family, split, index, seed } = this.#only;
      return planFor({ env, family, split, index }, seed ?? undefined);
    }
    const { families } = this.#catalog;
    const family = families[this.#given % families.length];
    if (family === undefined) return null;
    const round = Math.floor(this.#given / families.length);
    this.#given++;
    const { name, train, heldOut } = family;
    const heldOutBefore = Math.floor(round / HELD_OUT_EVERY);
    const isHeldOut = train === 0 || (heldOut > 0 && round % HELD_OUT_EVERY === HELD_OUT_EVERY - 1);
    if (isHeldOut) {
      const index = (train === 0 ? round : heldOutBefore) % heldOut;
      return planFor({ env, family: name, split: 'held_out', index }, undefined);
    }
    const index = (heldOut === 0 ? round : round - heldOutBefore) % train;
    return planFor({ env, family: name, split: 'train', index }, undefined);
  }
}

/** As a run tries it: held-out tasks are not for training on. */
function planFor(task: TaskRef, seed: number | undefined): Plan {
  return { task, phase: task.split === 'train' ? 'train' : 'eval', mode: 'sampled', iteration: 0, seed };
}

function refuseUnknown({ env, families }: Catalog, { family, split, index }: NamedTask): void {
  const found = families.find(({ name }) => name === family);
  if (found === undefined) {
    const names = families.map(({ name }) => name);
    const meant = nearest(family, names);
    throw new LabError('usage', {
      message: `environment ${env} has no family "${family}"; it has: ${names.join(', ')}`,
      hint: meant === null ? 'name one of these families' : `did you mean ${meant}?`,
    });
  }
  const count = split === 'train' ? found.train : found.heldOut;
  if (index >= count) {
    throw new LabError('usage', {
      message: `there is no task ${family}/${split}/${index}: ${family} has ${count} ${split} tasks, from 0`,
      hint: count > 0 ? `the last one is ${family}/${split}/${count - 1}` : 'name one of the other split',
    });
  }
}
