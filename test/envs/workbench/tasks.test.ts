import { describe, expect, test } from 'vitest';
import { createTask, scenarioOf, WORKBENCH_CATALOG } from '../../../envs/workbench/tasks.ts';
import { TOOL_NAMES, TOOLS } from '../../../envs/workbench/tools.ts';
import { VOCABULARY } from '../../../envs/workbench/vocabulary.ts';
import type { Split, Task } from '../../../src/domain/task.ts';

const TRAIN = makeAll('train');
const HELD_OUT = makeAll('held_out');
const GENERATED = { train: new Set(VOCABULARY.train), held_out: new Set(VOCABULARY.held_out) };

/** All held-out tasks, or every 14th of those for training. */
function makeAll(split: Split): Task[] {
  const step = split === 'train' ? 14 : 1;
  return WORKBENCH_CATALOG.families.flatMap(({ name, train, heldOut }) =>
    Array.from({ length: Math.floor((split === 'train' ? train : heldOut) / step) }, (_, place) =>
      createTask({ env: 'workbench', family: name, split, index: place * step }),
    ),
  );
}

/** Every name and value of a task. */
function namesIn(task: Task): string[] {
  const { files, directories, names, reads, jobs } = scenarioOf(task);
  return [
    ...files.flatMap((file) => [file.name, file.directory, ...file.values]),
    ...directories,
    ...names,
    ...reads,
    ...jobs.flatMap((job) => job.arguments),
  ];
}

/** Every word of a task that an agent can see, names included. */
function wordsIn(task: Task): string[] {
  return [task.text, ...scenarioOf(task).files.map((file) => file.text)].flatMap((text) => text.split(' '));
}

describe('the Workbench’s tasks', () => {
  test('there are 100,000 for training and 500 held out, in five families', () => {
    const { families } = WORKBENCH_CATALOG;
    expect(families.reduce((sum, { train }) => sum + train, 0)).toBe(100_000);
    expect(HELD_OUT).toHaveLength(500);
    expect(WORKBENCH_CATALOG.families.map(({ name }) => name)).toEqual([
      'move_rename',
      'config_report',
      'reference',
      'copy_delete',
      'ordered',
    ]);
  });

  test('the vocabularies have 2,000 and 500 words, none in common', () => {
    expect(GENERATED.train.size).toBe(2000);
    expect(GENERATED.held_out.size).toBe(500);
    expect(VOCABULARY.held_out.filter((word) => GENERATED.train.has(word))).toEqual([]);
  });

  test('all names and values are of the split’s own vocabulary', () => {
    expect(TRAIN.flatMap(namesIn).filter((name) => !GENERATED.train.has(name))).toEqual([]);
    expect(HELD_OUT.flatMap(namesIn).filter((name) => !GENERATED.held_out.has(name))).toEqual([]);
  });

  test('no word that a task shows is of the other split’s vocabulary', () => {
    expect(TRAIN.flatMap(wordsIn).filter((word) => GENERATED.held_out.has(word))).toEqual([]);
    expect(HELD_OUT.flatMap(wordsIn).filter((word) => GENERATED.train.has(word))).toEqual([]);
  });

  test('no word of a template, a tool or a field is a generated word', () => {
    const shared = TRAIN.flatMap((task) => {
      const names = new Set(namesIn(task));
      return wordsIn(task).filter((word) => !names.has(word));
    });
    const fixed = new Set([...shared, ...TOOL_NAMES, ...TOOL_NAMES.flatMap((name) => TOOLS[name].fields)]);
    expect(fixed.size).toBeGreaterThan(40);
    expect([...fixed].filter((word) => GENERATED.train.has(word) || GENERATED.held_out.has(word))).toEqual(
      [],
    );
  });

  test('no two of these tasks have the same seed, within a split or across', () => {
    expect(new Set([...TRAIN, ...HELD_OUT].map((task) => task.seed)).size).toBe(
      TRAIN.length + HELD_OUT.length,
    );
    expect(TRAIN.every((task) => task.seed % 2 === 0)).toBe(true);
    expect(HELD_OUT.every((task) => task.seed % 2 === 1)).toBe(true);
  });

  test('no two of these tasks are the same', () => {
    const contents = [...TRAIN, ...HELD_OUT].map((task) => JSON.stringify([task.text, task.params]));
    expect(new Set(contents).size).toBe(TRAIN.length + HELD_OUT.length);
  });

  test('a task is the same whenever it is made', () => {
    expect(makeAll('held_out')).toEqual(HELD_OUT);
  });

  test('a name occurs once in a task’s candidates, and not twice in its assignment', () => {
    for (const task of TRAIN) {
      const { files, directories, names } = scenarioOf(task);
      const all = [...files.flatMap((file) => [file.name, ...file.values]), ...directories, ...names];
      expect(new Set(all).size).toBe(all.length);
      const mentioned = task.text.split(' ').filter((word) => GENERATED.train.has(word));
      expect(new Set(mentioned).size).toBe(mentioned.length);
    }
  });

  test('there are two distractor files or more, and a tray of six with tools that are not needed', () => {
    for (const task of [...TRAIN, ...HELD_OUT]) {
      const { files, jobs, reads, tray } = scenarioOf(task);
      const needed = new Set([...reads, ...jobs.flatMap((job) => job.arguments)]);
      expect(files.filter((file) => !needed.has(file.name)).length).toBeGreaterThanOrEqual(2);
      expect(new Set(tray).size).toBe(6);
      expect(jobs.every((job) => tray.includes(job.tool))).toBe(true);
    }
  });

  test('every family words its tasks in two ways, the order of two jobs among them', () => {
    for (const { name } of WORKBENCH_CATALOG.families) {
      const starts = TRAIN.filter((task) => task.family === name).map((task) =>
        task.text
          .split(' ')
          .filter((word) => !GENERATED.train.has(word))
          .join(' '),
      );
      expect(new Set(starts).size).toBeGreaterThanOrEqual(2);
    }
    const ordered = TRAIN.filter((task) => task.family === 'ordered').map((task) => task.text);
    expect(ordered.filter((text) => /^first .* then /u.test(text)).length).toBeGreaterThan(500);
    expect(ordered.filter((text) => / but only after you /u.test(text)).length).toBeGreaterThan(500);
  });

  test.each([
    [
      { env: 'workbench', family: 'ordered', split: 'held_out', index: 100 },
      /ordered has 100 held_out tasks/u,
    ],
    [
      { env: 'workbench', family: 'order', split: 'train', index: 0 },
      /its families are move_rename, config_report/u,
    ],
    [
      { env: 'desk', family: 'ordered', split: 'train', index: 0 },
      /there is no task desk\/ordered\/train\/0/u,
    ],
  ] as const)('%o names no task and is refused', (ref, message) => {
    expect(() => createTask(ref)).toThrow(
      expect.objectContaining({ code: 'environment-invalid', message: expect.stringMatching(message) }),
    );
  });

  test('a task that was copied keeps its scenario', () => {
    const task = HELD_OUT[3]!;
    const params = structuredClone(task.params);
    expect(scenarioOf({ ...task, params })).toEqual(scenarioOf(task));
    expect(scenarioOf({ ...task, params })).not.toBe(scenarioOf(task));
  });

  test('params that are no scenario are refused', () => {
    expect(() => scenarioOf({ ...HELD_OUT[3]!, params: { files: 'none' } })).toThrow(
      expect.objectContaining({ code: 'environment-invalid' }),
    );
  });
});
