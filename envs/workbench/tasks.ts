import { LabError } from '../../src/domain/error.ts';
import { createRandom, deriveSeed } from '../../src/domain/random.ts';
import { type Catalog, formatTaskRef, type Split, type Task, type TaskRef } from '../../src/domain/task.ts';
import { configReport } from './config-report.ts';
import { copyDelete } from './copy-delete.ts';
import type { Family } from './family.ts';
import { moveRename } from './move-rename.ts';
import { ordered } from './ordered.ts';
import { reference } from './reference.ts';
import { createNameSource, type Scenario, scenarioSchema } from './scenario.ts';
import { VOCABULARY } from './vocabulary.ts';

const ENVIRONMENT = 'workbench';
const FAMILIES: readonly Family[] = [moveRename, configReport, reference, copyDelete, ordered];
const FAMILY_BY_NAME = new Map(FAMILIES.map((family) => [family.name, family]));
/**
 * Tasks of one family. With 1,400 for training a policy learned them by heart: it solved 96 % of one family's, and 80 % of
 * those held out.
 */
const COUNTS: Readonly<Record<Split, number>> = { train: 20_000, held_out: 100 };

/** 100,000 training tasks and 500 held-out ones, in five families. */
export const WORKBENCH_CATALOG: Catalog = {
  env: ENVIRONMENT,
  version: '1',
  maxSteps: 30,
  families: FAMILIES.map(({ name }) => ({ name, train: COUNTS.train, heldOut: COUNTS.held_out })),
};

/** A task with the scenario that its params are. */
interface Made {
  readonly task: Task;
  readonly scenario: Scenario;
}

/**
 * The scenario of the newest task made here: only tasks from elsewhere, or from before, have to be validated. A weak map of all
 * of them would take longer than making a task.
 */
let newest: { readonly params: Task['params']; readonly scenario: Scenario } | null = null;

/** By bits: 1 reading, 2 chained. */
const TAGS: readonly (readonly string[])[] = [[], ['reading'], ['chained'], ['reading', 'chained']];

/** Held-out tasks made so far, by their formatted references: every evaluation takes the same ones. */
const heldOut = new Map<string, Made>();

/** Generates the task that a reference names: always the same one. Throws `environment-invalid` if there is none. */
export function createTask(ref: TaskRef): Task {
  if (ref.split === 'train') return take(generateTask(ref));
  const key = formatTaskRef(ref);
  const made = heldOut.get(key) ?? generateTask(ref);
  heldOut.set(key, made);
  return take(made);
}

function take({ task, scenario }: Made): Task {
  newest = { params: task.params, scenario };
  return task;
}

function generateTask(ref: TaskRef): Made {
  const family = findFamily(ref);
  if (ref.index >= COUNTS[ref.split]) {
    throw new LabError('environment-invalid', {
      message: `there is no task ${formatTaskRef(ref)}: ${ref.family} has ${COUNTS[ref.split]} ${ref.split} tasks`,
      hint: `use an index from 0 to ${COUNTS[ref.split] - 1}.`,
    });
  }
  const seed = taskSeed(ref);
  const random = createRandom(seed);
  const { text, scenario } = family.assign(random, createNameSource(VOCABULARY[ref.split], random));
  const { env, split, index } = ref;
  const { name, difficulty } = family;
  const [tags, params] = [tagsOf(scenario), { ...scenario }];
  return { task: { env, family: name, split, index, seed, difficulty, tags, text, params }, scenario };
}

/** `reading`: files have to be read first. `chained`: more than one run of a tool. */
function tagsOf({ reads, jobs }: Scenario): readonly string[] {
  return TAGS[Number(reads.length > 0) + 2 * Number(jobs.length > 1)] ?? [];
}

/** The scenario in a task's params. Throws `environment-invalid` if they are not a Workbench scenario. */
export function scenarioOf(task: Task): Scenario {
  if (newest?.params === task.params) return newest.scenario;
  const parsed = scenarioSchema.safeParse(task.params);
  if (parsed.success) return parsed.data;
  throw new LabError('environment-invalid', {
    message: `the params of task ${formatTaskRef(task)} are no Workbench scenario: ${parsed.error.issues[0]?.message}`,
    hint: 'make the task with createTask.',
    cause: parsed.error,
  });
}

/** The family of a task. Throws `environment-invalid` if the Workbench has none of that name. */
export function findFamily(ref: TaskRef): Family {
  const family = ref.env === ENVIRONMENT ? FAMILY_BY_NAME.get(ref.family) : undefined;
  if (family !== undefined) return family;
  throw new LabError('environment-invalid', {
    message: `there is no task ${formatTaskRef(ref)}: the environment is "${ENVIRONMENT}", its families are ${[...FAMILY_BY_NAME.keys()].join(', ')}`,
    hint: 'name one of these families.',
  });
}

/** Held-out seeds are odd and training seeds even: no task of one split can be generated in the other. */
function taskSeed(ref: TaskRef): number {
  const seed = deriveSeed(ENVIRONMENT, ref.family, ref.split, ref.index);
  return ((seed & ~1) | (ref.split === 'held_out' ? 1 : 0)) >>> 0;
}
