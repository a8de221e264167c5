import { describe, expect, test } from 'vitest';
import { randomAction } from '../../../envs/conformance.ts';
import type { Eventual, StepResult } from '../../../envs/contract.ts';
import { createWorkbench } from '../../../envs/workbench/environment.ts';
import { createOracle, solve } from '../../../envs/workbench/oracle.ts';
import { createTask, scenarioOf, WORKBENCH_CATALOG } from '../../../envs/workbench/tasks.ts';
import { DEFAULT_REWARDS } from '../../../src/domain/default-rewards.ts';
import { createRandom } from '../../../src/domain/random.ts';
import type { Action, Observation } from '../../../src/domain/space.ts';
import type { Split, Task } from '../../../src/domain/task.ts';
import { createAggregator } from '../../../src/rewards/aggregator.ts';
import type { TracedStep } from '../../../src/rewards/behaviours.ts';
import { createPenaltyTracker } from '../../../src/rewards/penalties.ts';
import { findBehaviours } from '../../support/behaviours.ts';

const FAMILIES = WORKBENCH_CATALOG.families.map(({ name }) => name);
const MAX_STEPS = WORKBENCH_CATALOG.maxSteps;
const confirm: Action = { type: 'confirm', argument: null };
const submit: Action = { type: 'submit', argument: null };
const noop: Action = { type: 'noop', argument: null };
const select = (argument: string): Action => ({ type: 'select_tool', argument });
const input = (argument: string): Action => ({ type: 'input', argument });
const read = (argument: string): Action => ({ type: 'read', argument });
const run = (tool: string, ...values: string[]): Action[] => [select(tool), ...values.map(input), confirm];

function taskOf(family: string, index = 0, split: Split = 'train'): Task {
  return createTask({ env: 'workbench', family, split, index });
}

function atOnce<T>(answer: Eventual<T>): T {
  if (answer instanceof Promise) throw new Error('an answer at once was wanted');
  return answer;
}

/** A slot whose answers come at once. */
function open(options: Record<string, unknown> = {}) {
  const env = createWorkbench(options);
  return {
    reset: (task: Task, seed = 1) => atOnce(env.reset(task, seed)),
    step: (action: Action) => atOnce(env.step(action)),
    getState: () => env.getState(),
  };
}

function play(task: Task, actions: readonly Action[], slot = open()): StepResult[] {
  slot.reset(task);
  return actions.map((action) => slot.step(action));
}

function last(task: Task, actions: readonly Action[]): StepResult {
  return play(task, actions).at(-1)!;
}

/** What each action's progress component is. */
function progressOf(task: Task, actions: readonly Action[]): number[] {
  return play(task, actions).map(({ components }) => components['progress'] ?? 0);
}

/** The candidates at the start of an episode, in order. */
function orderOf(task: Task, seed: number): string[] {
  return open()
    .reset(task, seed)
    .candidates.map(({ text }) => text);
}

describe('the oracle', () => {
  test.each(FAMILIES)(
    'solves %s tasks of both splits in 5 to 12 steps, for more than 1 and without penalties',
    (family) => {
      const slot = open();
      const aggregator = createAggregator(DEFAULT_REWARDS);
      const penalties = createPenaltyTracker();
      const refs = [
        ...Array.from({ length: 1000 }, (_, index) => taskOf(family, index)),
        ...Array.from({ length: 100 }, (_, index) => taskOf(family, index, 'held_out')),
      ];
      for (const task of refs) {
        aggregator.reset();
        penalties.reset();
        const oracle = createOracle(task);
        let observation = slot.reset(task, task.index);
        const steps: TracedStep[] = [];
        let result: StepResult;
        do {
          const action = oracle(observation);
          result = slot.step(action);
          observation = result.observation;
          const wasted = penalties.observe(action, result.effective);
          expect(wasted).toEqual({});
          steps.push({
            action,
            effective: result.effective,
            parts: aggregator.pay(result.components, wasted).parts,
          });
        } while (!result.terminated);
        expect(result.success).toBe(true);
        expect(steps.length).toBeGreaterThanOrEqual(5);
        expect(steps.length).toBeLessThanOrEqual(12);
        expect(aggregator.totals()).toEqual({
          success: 1,
          progress: expect.closeTo(0.04 * (steps.length - 1)),
        });
        expect(findBehaviours({ steps, success: true }, DEFAULT_REWARDS)).toEqual([]);
      }
    },
  );

  test('takes 9, 5, 6, 9 and 8 to 10 steps', () => {
    const lengths = FAMILIES.map((family) =>
      [...new Set(Array.from({ length: 300 }, (_, index) => solve(taskOf(family, index)).length))].toSorted(
        (a, b) => a - b,
      ),
    );
    expect(lengths).toEqual([[9], [5], [6], [9], [8, 9, 10]]);
  });
});

describe('a random policy', () => {
  test('succeeds in less than one of a hundred episodes, and never sees a line too long', () => {
    const slot = open();
    const random = createRandom(11);
    let successes = 0;
    for (let episode = 0; episode < 2000; episode++) {
      let observation = slot.reset(taskOf(FAMILIES[episode % 5]!, episode % 1400), episode);
      for (let step = 0; step < MAX_STEPS; step++) {
        const result = slot.step(randomAction(observation, random)!);
        observation = result.observation;
        expectWithinLimits(observation, 700);
        if (!result.terminated) continue;
        if (result.success) successes++;
        break;
      }
    }
    expect(successes).toBeLessThan(20);
  });

  test('succeeds in less than one of a hundred when it never submits without a job done', () => {
    const slot = open();
    const random = createRandom(12);
    let successes = 0;
    for (let episode = 0; episode < 2000; episode++) {
      let observation = slot.reset(taskOf(FAMILIES[episode % 5]!, episode % 1400), episode);
      for (let step = 0; step < MAX_STEPS; step++) {
        let action = randomAction(observation, random)!;
        while (action.type === 'submit' && !observation.lines[1]!.includes(' ran '))
          action = randomAction(observation, random)!;
        const result = slot.step(action);
        observation = result.observation;
        if (!result.terminated) continue;
        if (result.success) successes++;
        break;
      }
    }
    expect(successes).toBeLessThan(20);
  });
});

function expectWithinLimits({ lines }: Observation, characters: number): void {
  const words = lines.map((line) => line.split(' ').length);
  expect(words[0]).toBeLessThanOrEqual(32);
  expect(words[1]).toBeLessThanOrEqual(14);
  expect(Math.max(0, ...words.slice(2))).toBeLessThanOrEqual(16);
  expect(lines.length).toBeLessThanOrEqual(7);
  expect(lines.join('').length).toBeLessThanOrEqual(characters);
}

describe('what the agent sees', () => {
  const task = taskOf('move_rename');
  const [file = '', target = ''] = scenarioOf(task).jobs[0]!.arguments;
  const newName = scenarioOf(task).jobs[1]!.arguments[1]!;

  test('the task, the screen and what was done, in plain words', () => {
    expect(last(task, solve(task).slice(0, 5)).observation.lines).toEqual([
      `task move file ${file} into directory ${target} then rename it to name ${newName}`,
      'screen ran move tool rename next file',
      'select move asks file',
      `input ${file} as file`,
      `input ${target} as directory`,
      `confirm move done file ${file} into directory ${target}`,
      'select rename asks file',
    ]);
  });

  test('the oldest turns go first when the window is full', () => {
    const long = Array.from({ length: 200 }, (_, index) => taskOf('ordered', index)).find(
      ({ text }) => text.startsWith('first copy') && text.includes('move'),
    )!;
    const slot = open({ window: 200 });
    slot.reset(long);
    const seen = solve(long)
      .slice(0, -1)
      .map((action) => slot.step(action).observation);
    for (const observation of seen) expectWithinLimits(observation, 200);
    const [before, after] = seen.slice(4, 6).map(({ lines }) => lines.slice(2));
    expect(before!.at(-1)).toMatch(/^confirm copy done /u);
    expect(before!.length).toBeLessThan(5);
    expect(after!.slice(0, -1)).toEqual(before!.slice(before!.length - after!.length + 1));
  });

  test('input is offered only while a field is empty, confirm only when none is', () => {
    const results = play(task, [select('move'), input(file), input(target), confirm]);
    expect(results.map(({ observation }) => observation.legal)).toEqual([
      ['read', 'select_tool', 'input', 'submit', 'noop'],
      ['read', 'select_tool', 'input', 'submit', 'noop'],
      ['read', 'select_tool', 'confirm', 'submit', 'noop'],
      ['read', 'select_tool', 'submit', 'noop'],
    ]);
  });

  test('candidates are the same array until something is discovered', () => {
    const config = taskOf('config_report');
    const { reads, files } = scenarioOf(config);
    const [before, again, , after] = play(config, [select('report'), noop, read(reads[0]!), noop]).map(
      ({ observation }) => observation.candidates,
    );
    expect(again).toBe(before);
    expect(after).not.toBe(before);
    const known = new Set(before!.map(({ text }) => text));
    expect(
      after!
        .filter(({ text }) => !known.has(text))
        .map(({ text, kind }) => `${kind} ${text}`)
        .toSorted(),
    ).toEqual(
      files
        .find(({ name }) => name === reads[0])!
        .values.map((value) => `value ${value}`)
        .toSorted(),
    );
  });

  test('the place in the list tells nothing about the right candidate', () => {
    const slot = open();
    const places = Array.from({ length: 3000 }, (_, seed) => {
      const { candidates } = slot.reset(taskOf('move_rename', seed % 1400), seed);
      const tools = candidates.filter(({ type }) => type === 'select_tool');
      return tools.findIndex(({ text }) => text === 'move');
    });
    for (let place = 0; place < 6; place++) {
      const share = places.filter((each) => each === place).length / places.length;
      expect(share).toBeGreaterThan(0.13);
      expect(share).toBeLessThan(0.21);
    }
  });

  test('the order of candidates depends on the seed of the episode only', () => {
    expect(orderOf(task, 5)).toEqual(orderOf(task, 5));
    expect(orderOf(task, 5)).not.toEqual(orderOf(task, 6));
  });
});

describe('effects', () => {
  const task = taskOf('move_rename');
  const [file = '', target = ''] = scenarioOf(task).jobs[0]!.arguments;

  test.each([
    ['noop', [noop]],
    ['reading again what can still be seen', [read(file), read(file)]],
    ['selecting again a tool whose form is empty', [select('move'), select('move')]],
  ] as const)('%s has none', (_what, actions) => {
    expect(last(task, actions).effective).toBe(false);
  });

  test.each([
    ['reading', [read(file)]],
    ['reading again what can no longer be seen', [read(file), noop, noop, noop, noop, noop, read(file)]],
    ['clearing a form', [select('move'), input(file), select('move')]],
    ['a run that fails', run('move', target, file)],
  ] as const)('%s has one', (_what, actions) => {
    expect(last(task, actions).effective).toBe(true);
  });

  test.each([
    [run('move', target, target), `confirm move failed no file ${target}`],
    [run('move', file, file), `confirm move failed no directory ${file}`],
    [run('rename', file, target), `confirm rename failed ${target} is taken`],
    [
      [...run('move', file, target), ...run('move', file, target)],
      `confirm move failed file ${file} is there already`,
    ],
    [[...solve(task).slice(0, -1), read(file)], `read ${file} no such file`],
  ] as const)('a mistake is told (%#)', (actions, line) => {
    expect(last(task, actions).observation.lines.at(-1)).toBe(line);
  });

  test('a run that fails leaves the computer as it was', () => {
    const slot = open();
    slot.reset(task);
    for (const action of run('move', target, file)) slot.step(action);
    const files = scenarioOf(task).files.map(({ name, directory }) => [name, directory, name]);
    expect(slot.getState()).toMatchObject({ files, runs: [], outputs: [], tool: null, values: [] });
  });
});

describe('milestones', () => {
  test('each is paid at its first time only', () => {
    const task = taskOf('move_rename');
    const [file = '', target = ''] = scenarioOf(task).jobs[0]!.arguments;
    const once = [select('move'), input(file), input(target)];
    expect(progressOf(task, [...once, ...once, confirm, ...once, confirm])).toEqual([
      1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0,
    ]);
  });

  test('a wrong tool, a wrong value and a wrong field are not paid', () => {
    const task = taskOf('move_rename');
    const [file = '', target = ''] = scenarioOf(task).jobs[0]!.arguments;
    expect(progressOf(task, [select('rename'), select('move'), input(target), input(file), confirm])).toEqual(
      [0, 1, 0, 0, 0],
    );
  });

  test('the second job is not paid before the first is done', () => {
    const task = taskOf('ordered', 5);
    const [first, second] = scenarioOf(task).jobs;
    const early = run(second!.tool, ...second!.arguments);
    const late = run(first!.tool, ...first!.arguments);
    expect(progressOf(task, [...early, ...late])).toEqual([...early.map(() => 0), ...late.map(() => 1)]);
  });

  test('a reference is followed in order, and reading it twice is paid once', () => {
    const task = taskOf('reference');
    const [start = '', target = ''] = scenarioOf(task).reads;
    expect(progressOf(task, [read(target), read(start), read(start), read(target), read(target)])).toEqual([
      0, 1, 0, 1, 0,
    ]);
  });
});

describe('grading', () => {
  test('the wrong order fails, in every task of the family', () => {
    for (let index = 0; index < 300; index++) {
      const task = taskOf('ordered', index);
      const [first, second] = scenarioOf(task).jobs;
      const result = last(task, [
        ...run(second!.tool, ...second!.arguments),
        ...run(first!.tool, ...first!.arguments),
        submit,
      ]);
      expect(result).toMatchObject({
        terminated: true,
        success: false,
        failure: 'wrong_result',
        components: { wrong_submit: 1 },
      });
    }
  });

  test.each(FAMILIES)('%s: leaving out the last job, or doing something beside, fails', (family) => {
    const results = Array.from({ length: 100 }, (_, index) => {
      const task = taskOf(family, index);
      const { jobs, files, tray } = scenarioOf(task);
      const done = solve(task).slice(0, -1);
      const left = done.slice(0, -jobs.at(-1)!.arguments.length - 2);
      const extra = tray.find((tool) => ['delete', 'print', 'zip', 'share'].includes(tool));
      const beside =
        extra === undefined ? [] : [last(task, [...done, ...run(extra, files.at(-1)!.name), submit])];
      return [last(task, [...left, submit]), ...beside];
    }).flat();
    expect(results.length).toBeGreaterThan(150);
    expect(results.filter(({ success }) => success)).toEqual([]);
  });

  test('a copy of the wrong file under the right name fails', () => {
    const task = taskOf('copy_delete');
    const { jobs, files } = scenarioOf(task);
    const [, directory = '', name = ''] = jobs[0]!.arguments;
    const wrong = run('copy', files[1]!.name, directory, name);
    expect(last(task, [...wrong, ...run('delete', files[0]!.name), submit])).toMatchObject({
      success: false,
      failure: 'wrong_result',
    });
  });

  test('a mistake that was undone does not count', () => {
    const task = taskOf('move_rename');
    const { files } = scenarioOf(task);
    const other = files[1]!;
    const [, target = ''] = scenarioOf(task).jobs[0]!.arguments;
    const detour = [...run('move', other.name, target), ...run('move', other.name, other.directory)];
    expect(last(task, [...detour, ...solve(task)]).success).toBe(true);
  });

  test('the value that was not asked for fails', () => {
    const task = taskOf('config_report');
    const { files, reads, jobs } = scenarioOf(task);
    const other = files
      .find(({ name }) => name === reads[0])!
      .values.find((value) => value !== jobs[0]!.arguments[0])!;
    expect(last(task, [read(reads[0]!), ...run('report', other), submit])).toMatchObject({
      success: false,
      failure: 'wrong_result',
    });
  });

  test('submitting before anything was done is premature, and hasty in the first three steps', () => {
    const task = taskOf('move_rename');
    expect(last(task, [submit])).toMatchObject({
      failure: 'premature_submit',
      components: { wrong_submit: 1, unread_submit: 1 },
    });
    const late = last(task, [noop, noop, noop, submit]);
    expect(late.failure).toBe('premature_submit');
    expect(late.components).toEqual({ wrong_submit: 1 });
  });

  test('submitting without the reading that the task needs is unread', () => {
    const task = taskOf('reference');
    const [start = ''] = scenarioOf(task).reads;
    expect(last(task, [read(start), noop, noop, noop, submit]).components).toEqual({
      wrong_submit: 1,
      unread_submit: 1,
    });
  });
});

describe('a slot', () => {
  const task = taskOf('reference', 3);

  test('is the same after another episode as when it was new', () => {
    const used = open();
    play(taskOf('ordered', 9), solve(taskOf('ordered', 9)).slice(0, 6), used);
    const fresh = open();
    expect(used.reset(task)).toEqual(fresh.reset(task));
    for (const action of solve(task)) expect(used.step(action)).toEqual(fresh.step(action));
    expect(used.getState()).toEqual(fresh.getState());
  });

  test.each([
    [
      'an argument that is not among the candidates',
      read('nowhere'),
      /read "nowhere" was not on offer at step 1/u,
    ],
    [
      'a value that nobody has read yet',
      input(scenarioOf(task).jobs[0]!.arguments[0]!),
      /was not on offer at step 1/u,
    ],
    ['confirm without a form', confirm, /confirm was not on offer/u],
    ['noop with an argument', { type: 'noop', argument: 'x' }, /noop "x" was not on offer/u],
    ['read without one', { type: 'read', argument: null }, /read was not on offer/u],
  ] satisfies [string, Action, RegExp][])('refuses %s', (_what, action, message) => {
    const slot = open();
    slot.reset(task);
    expect(() => slot.step(action)).toThrow(
      expect.objectContaining({ code: 'environment-invalid', message: expect.stringMatching(message) }),
    );
  });

  test('refuses a step before an episode and after its end', () => {
    const slot = open();
    expect(() => slot.step(noop)).toThrow('noop was sent before an episode');
    slot.reset(task);
    slot.step(submit);
    expect(() => slot.step(noop)).toThrow('noop was sent after the end of its episode');
  });

  test('has no state before an episode and after a full reset', async () => {
    const env = createWorkbench({});
    expect(env.getState()).toBeNull();
    await env.reset(task, 1);
    await env.fullReset();
    expect(env.getState()).toBeNull();
    await env.close();
  });

  test('answers later when it has a latency', async () => {
    const env = createWorkbench({ latencyMs: 1 });
    await env.reset(task, 1);
    const answer = env.step(noop);
    expect(answer).toBeInstanceOf(Promise);
    expect((await answer).observation.lines.at(-1)).toBe('noop nothing happens');
  });

  test.each([
    [{ windows: 700 }, 'windows'],
    [{ window: 10 }, '200'],
    [{ latencyMs: '5' }, 'number'],
  ])('refuses the options %o, saying why', (options, part) => {
    expect(() => createWorkbench(options)).toThrow(
      expect.objectContaining({ code: 'environment-invalid', message: expect.stringContaining(part) }),
    );
  });
});
