import { z } from 'zod';
import { LabError } from '../../src/domain/error.ts';
import { createRandom, deriveSeed, type RandomStream } from '../../src/domain/random.ts';
import { type Catalog, formatTaskRef, type Split, type Task, type TaskRef } from '../../src/domain/task.ts';

/** Who acts: the speaker knows which item is meant, the listener chooses one. */
export const SPEAKER = 'speaker';
export const LISTENER = 'listener';

/** All words that can be said. */
export const COLOURS = ['red', 'green', 'blue', 'amber'] as const;
export const SHAPES = ['round', 'square', 'flat', 'bent'] as const;

/** Names of items; the splits have none in common. */
const NAMES: Readonly<Record<Split, readonly string[]>> = {
  train: ['bolt', 'nut', 'ring', 'plate', 'pin', 'hook', 'gear', 'valve', 'spring', 'lever', 'cable', 'lamp'],
  held_out: ['wheel', 'screw', 'hinge', 'clamp', 'nail', 'pipe', 'fuse', 'cork'],
};

/** How items differ: so many colours, each with so many shapes; where that is one, it is drawn for each item. */
interface Family {
  readonly colours: number;
  readonly shapes: number;
  /** Words that the speaker may say, one a turn. */
  readonly rounds: number;
  readonly difficulty: number;
}

const FAMILIES: Readonly<Record<string, Family>> = {
  colour: { colours: 3, shapes: 1, rounds: 2, difficulty: 1 },
  pair: { colours: 2, shapes: 2, rounds: 3, difficulty: 2 },
  crowd: { colours: 3, shapes: 2, rounds: 3, difficulty: 3 },
};

export const RELAY_CATALOG: Catalog = {
  env: 'relay',
  version: '1',
  maxSteps: 6,
  agents: [SPEAKER, LISTENER],
  families: Object.keys(FAMILIES).map((name) => ({ name, train: 10_000, heldOut: 500 })),
};

const itemSchema = z.strictObject({ name: z.string(), colour: z.enum(COLOURS), shape: z.enum(SHAPES) });
/** Something that the speaker may mean. */
export type Item = Readonly<z.infer<typeof itemSchema>>;

const paramsSchema = z.strictObject({
  items: z.array(itemSchema).min(1),
  /** The one that is meant, among the items. */
  meant: z.int().nonnegative(),
  rounds: z.int().positive(),
});
export type RelayParams = Readonly<z.infer<typeof paramsSchema>>;

/**
 * The task that a reference names: items that differ in colour, or in colour and shape, one of which is meant. Held-out seeds are
 * odd and training seeds even. Throws `environment-invalid` for one that there is not.
 */
export function createRelayTask(ref: TaskRef): Task {
  const family = ref.env === 'relay' ? FAMILIES[ref.family] : undefined;
  const counts = RELAY_CATALOG.families.find(({ name }) => name === ref.family);
  const count = ref.split === 'held_out' ? counts?.heldOut : counts?.train;
  if (family === undefined || count === undefined || ref.index >= count) {
    throw new LabError('environment-invalid', {
      message: `there is no task ${formatTaskRef(ref)}: "relay" has the families ${Object.keys(FAMILIES).join(', ')}, with ${count ?? 10_000} ${ref.split} tasks each`,
      hint: 'name one of these families, and a lower index.',
    });
  }
  const drawn = deriveSeed('relay', ref.family, ref.split, ref.index);
  const seed = ((drawn & ~1) | Number(ref.split === 'held_out')) >>> 0;
  const random = createRandom(seed);
  const items = drawItems(family, NAMES[ref.split], random);
  const meant = random.integer(items.length);
  const { colour, shape } = items[meant] ?? { colour: 'red', shape: 'round' };
  const params: RelayParams = { items, meant, rounds: family.rounds };
  return {
    ...ref,
    seed,
    difficulty: family.difficulty,
    text: `task tell the listener of colour ${colour} and shape ${shape}`,
    params: { ...params },
  };
}

function drawItems({ colours, shapes }: Family, all: readonly string[], random: RandomStream): Item[] {
  const names = random.shuffle(all).slice(0, colours * shapes);
  const grid = random.shuffle(SHAPES).slice(0, shapes);
  const shown = random.shuffle(COLOURS).slice(0, colours);
  return shown.flatMap((colour) =>
    (shapes === 1 ? [random.pick(SHAPES)] : grid).map((shape) => ({
      name: names.pop() ?? '',
      colour,
      shape,
    })),
  );
}

/** What a task is about. Throws `environment-invalid` for one that `createRelayTask` did not make. */
export function paramsOf(task: Task): RelayParams {
  const parsed = paramsSchema.safeParse(task.params);
  if (parsed.success && parsed.data.meant < parsed.data.items.length) return parsed.data;
  throw new LabError('environment-invalid', {
    message: `the params of task ${formatTaskRef(task)} are not those of "relay": ${parsed.error === undefined ? 'no item is meant' : z.prettifyError(parsed.error)}`,
    hint: 'make the task with createTask.',
    cause: parsed.error,
  });
}
