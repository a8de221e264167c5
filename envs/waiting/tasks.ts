import { z } from 'zod';
import { LabError } from '../../src/domain/error.ts';
import { createRandom, deriveSeed } from '../../src/domain/random.ts';
import { type Catalog, formatTaskRef, type Task, type TaskRef } from '../../src/domain/task.ts';

/** Steps of an episode, fewest and most, by family. */
const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  short: [3, 5],
  turns: [20, 20],
  long: [100, 120],
  mixed: [3, 120],
};

export const WAITING_CATALOG: Catalog = {
  env: 'waiting',
  version: '1',
  maxSteps: 120,
  families: Object.keys(STEPS).map((name) => ({ name, train: 10_000, heldOut: 500 })),
};

const paramsSchema = z.strictObject({ steps: z.int().positive() });

/**
 * The task that a reference names: so many steps, drawn uniformly from its family's range. Held-out seeds are odd and training
 * seeds even. Throws `environment-invalid` for one that there is not.
 */
export function createWaitingTask(ref: TaskRef): Task {
  const range = ref.env === 'waiting' ? STEPS[ref.family] : undefined;
  const family = WAITING_CATALOG.families.find(({ name }) => name === ref.family);
  const count = ref.split === 'held_out' ? family?.heldOut : family?.train;
  if (range === undefined || count === undefined || ref.index >= count) {
    throw new LabError('environment-invalid', {
      message: `there is no task ${formatTaskRef(ref)}: "waiting" has the families ${Object.keys(STEPS).join(', ')}, with ${count ?? 10_000} ${ref.split} tasks each`,
      hint: 'name one of these families, and a lower index.',
    });
  }
  const drawn = deriveSeed('waiting', ref.family, ref.split, ref.index);
  const seed = ((drawn & ~1) | Number(ref.split === 'held_out')) >>> 0;
  const [fewest, most] = range;
  const steps = fewest + createRandom(seed).integer(most - fewest + 1);
  return { ...ref, seed, difficulty: 1, text: `task make ${steps} calls as asked`, params: { steps } };
}

/** The steps that a task takes. Throws `environment-invalid` for one that `createWaitingTask` did not make. */
export function stepsOf(task: Task): number {
  const parsed = paramsSchema.safeParse(task.params);
  if (parsed.success) return parsed.data.steps;
  throw new LabError('environment-invalid', {
    message: `the params of task ${formatTaskRef(task)} are not those of "waiting": ${z.prettifyError(parsed.error)}`,
    hint: 'make the task with createTask.',
    cause: parsed.error,
  });
}
