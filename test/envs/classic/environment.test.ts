import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { acrobot, cartpole } from '../../../envs/classic/definitions.ts';
import type { Environment, EnvironmentDefinition, StepResult } from '../../../envs/contract.ts';
import { corridor } from '../../../envs/corridor/definition.ts';
import type { Action, Observation } from '../../../src/domain/space.ts';
import type { Split, Task } from '../../../src/domain/task.ts';
import { createAggregator } from '../../../src/rewards/aggregator.ts';

const ALL: readonly [string, EnvironmentDefinition, number][] = [
  ['cartpole', cartpole, 4],
  ['acrobot', acrobot, 6],
  ['corridor', corridor, 3],
];
const input = (argument: string): Action => ({ type: 'input', argument });

function taskOf(definition: EnvironmentDefinition, index = 0, split: Split = 'train'): Task {
  const { env, families } = definition.catalog;
  return definition.createTask({ env, family: families[0]!.name, split, index });
}

function reset(env: Environment, task: Task, seed = 1): Observation {
  const answer = env.reset(task, seed);
  if (answer instanceof Promise) throw new TypeError('answers at once');
  return answer;
}

function step(env: Environment, action: Action): StepResult {
  const answer = env.step(action);
  if (answer instanceof Promise) throw new TypeError('answers at once');
  return answer;
}

/** Results of one episode under a policy, until it ends or the catalog's limit. */
function play(
  definition: EnvironmentDefinition,
  task: Task,
  policy: (observation: Observation, step: number) => Action,
): StepResult[] {
  const env = definition.create({});
  let observation = reset(env, task);
  const results: StepResult[] = [];
  while (results.length < definition.catalog.maxSteps && results.at(-1)?.terminated !== true) {
    const result = step(env, policy(observation, results.length));
    results.push(result);
    observation = result.observation;
  }
  return results;
}

function seedsOf(definition: EnvironmentDefinition, split: Split, count: number): number[] {
  return Array.from({ length: count }, (_, index) => taskOf(definition, index, split).seed);
}

function refused(part: string): unknown {
  return expect.objectContaining({ code: 'environment-invalid', message: expect.stringContaining(part) });
}

/** A linear controller: pushes towards where the pole falls. */
function balance({ features = [] }: Observation): Action {
  const [x = 0, v = 0, angle = 0, spin = 0] = features;
  return input(angle + 0.3 * spin + 0.02 * x + 0.05 * v > 0 ? 'right' : 'left');
}

describe.each(ALL)('%s', (name, definition, width) => {
  const { families } = definition.catalog;

  test('every observation has its numbers in float32, and one and the same array of candidates', () => {
    fc.assert(
      fc.property(fc.nat(999), fc.array(fc.nat(5), { minLength: 1, maxLength: 60 }), (index, choices) => {
        const env = definition.create({});
        const first = reset(env, taskOf(definition, index));
        let observation = first;
        for (const choice of choices) {
          expect(observation.features).toHaveLength(width);
          expect(observation.features).toEqual(observation.features?.map(Math.fround));
          expect(observation.legal).toEqual(['input']);
          expect(observation.candidates).toBe(first.candidates);
          const { candidates } = observation;
          const result = step(env, input(candidates[choice % candidates.length]!.text));
          if (result.terminated) break;
          observation = result.observation;
        }
      }),
      { numRuns: 50 },
    );
  });

  test('a task is one start, whatever the seed of the episode', () => {
    const env = definition.create({});
    expect(reset(env, taskOf(definition), 1)).toEqual(reset(env, taskOf(definition), 2));
  });

  test('no seed of training is one of the held-out tasks', () => {
    const [family] = families;
    const train = seedsOf(definition, 'train', family!.train);
    const heldOut = seedsOf(definition, 'held_out', family!.heldOut);
    expect(new Set(train).size).toBeGreaterThan(train.length * 0.999);
    // Even in training, odd when held out: they cannot meet.
    expect(train.filter((seed) => seed % 2 !== 0)).toEqual([]);
    expect(heldOut.filter((seed) => seed % 2 !== 1)).toEqual([]);
  });

  test.each([
    ['an argument that is not on offer', input('up'), /input "up" was not on offer at step 1 of /u],
    ['a type that is not legal', { type: 'noop', argument: null }, /noop was not on offer/u],
    ['input without an argument', { type: 'input', argument: null }, /input was not on offer/u],
  ] satisfies [string, Action, RegExp][])('refuses %s', (_what, action, message) => {
    const env = definition.create({});
    reset(env, taskOf(definition));
    expect(() => step(env, action)).toThrow(
      expect.objectContaining({ code: 'environment-invalid', message: expect.stringMatching(message) }),
    );
  });

  test('refuses a step before an episode, after a full reset and after the end', async () => {
    const env = definition.create({});
    const [first = ''] = definition.catalog.env === 'acrobot' ? ['-1'] : ['left'];
    expect(() => step(env, input(first))).toThrow('was sent before an episode');
    reset(env, taskOf(definition));
    await env.fullReset();
    expect(env.getState()).toBeNull();
    expect(() => step(env, input(first))).toThrow('was sent before an episode');
    const policy = definition.createOracle?.(taskOf(definition)) ?? (() => input(first));
    let observation = reset(env, taskOf(definition));
    for (let i = 0; i < definition.catalog.maxSteps; i++) {
      const result = step(env, policy(observation));
      observation = result.observation;
      if (result.terminated) break;
    }
    expect(() => step(env, input(first))).toThrow('was sent after the end of its episode');
  });

  test('refuses tasks and options that it has not got', () => {
    const [family] = families;
    const ref = { env: name, family: family!.name, split: 'held_out', index: family!.heldOut } as const;
    expect(() => definition.createTask(ref)).toThrow(refused(`has ${family!.heldOut} held_out tasks`));
    expect(() => definition.createTask({ ...ref, family: 'none', index: 0 })).toThrow(refused(family!.name));
    expect(() => definition.createTask({ ...ref, env: 'other', index: 0 })).toThrow(refused(name));
    expect(() => definition.create({ length: 9 })).toThrow(refused('length'));
  });
});

describe('cartpole', () => {
  test('a linear controller keeps every held-out pole up for 500 steps', () => {
    for (let index = 0; index < cartpole.catalog.families[0]!.heldOut; index++) {
      const results = play(cartpole, taskOf(cartpole, index, 'held_out'), balance);
      expect(results).toHaveLength(500);
      expect(results.at(-1)?.terminated).toBe(false);
    }
  });

  test('a pole that falls is a wrong result, and each step is paid, the last one too', () => {
    const results = play(cartpole, taskOf(cartpole), () => input('right'));
    expect(results.length).toBeLessThan(20);
    expect(results.at(-1)).toMatchObject({ terminated: true, success: false, failure: 'wrong_result' });
    const aggregator = createAggregator({ alive: { weight: 1, cap: null } });
    const paid = results.map(({ components }) => aggregator.pay(components).reward);
    expect(paid).toEqual(results.map(() => 1));
  });

  test('starts are uniform in ±0.05', () => {
    const starts = Array.from(
      { length: 2000 },
      (_, index) => reset(cartpole.create({}), taskOf(cartpole, index)).features ?? [],
    );
    for (let i = 0; i < 4; i++) {
      const values = starts.map((features) => features[i]!);
      expect(Math.max(...values.map(Math.abs))).toBeLessThanOrEqual(Math.fround(0.05));
      expect(values.filter((value) => value > 0.045).length).toBeGreaterThan(50);
      expect(values.filter((value) => value < -0.045).length).toBeGreaterThan(50);
    }
  });

  test('the line says the state', () => {
    const env = cartpole.create({});
    const { lines, features = [] } = reset(env, taskOf(cartpole, 3));
    expect(lines).toHaveLength(2);
    const shown = /^x (\S+) m, v (\S+) m\/s, angle (\S+)°, spin (\S+) rad\/s$/u.exec(lines[1]!)?.slice(1);
    const [x = 0, v = 0, angle = 0, spin = 0] = features;
    [x, v, (angle * 180) / Math.PI, spin].forEach((value, i) => {
      expect(Math.abs(Number(shown?.[i]) - value)).toBeLessThanOrEqual(i === 2 ? 0.0501 : 0.00501);
    });
  });
});

describe('acrobot', () => {
  test('its oracle reaches the height in every held-out task; the last step costs nothing', () => {
    for (let index = 0; index < acrobot.catalog.families[0]!.heldOut; index++) {
      const task = taskOf(acrobot, index, 'held_out');
      const results = play(acrobot, task, acrobot.createOracle!(task));
      expect(results.at(-1)).toMatchObject({ terminated: true, success: true, failure: null });
      expect(results.map(({ components }) => components['time'])).toEqual([
        ...results.slice(1).map(() => -1),
        0,
      ]);
    }
  });

  test('links that are left alone stay down', () => {
    const results = play(acrobot, taskOf(acrobot), () => input('0'));
    expect(results).toHaveLength(500);
    expect(results.at(-1)?.terminated).toBe(false);
  });
});
