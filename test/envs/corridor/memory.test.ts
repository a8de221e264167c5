import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Environment, StepResult } from '../../../envs/contract.ts';
import { corridor } from '../../../envs/corridor/definition.ts';
import type { Action, Observation } from '../../../src/domain/space.ts';
import type { Task } from '../../../src/domain/task.ts';

const input = (argument: string): Action => ({ type: 'input', argument });
/** All there are: both sides with each of three delays. */
const TASKS = Array.from({ length: 6 }, (_, index) =>
  corridor.createTask({ env: 'corridor', family: 'cue', split: 'held_out', index }),
);

function reset(env: Environment, task: Task): Observation {
  const answer = env.reset(task, 1);
  if (answer instanceof Promise) throw new TypeError('answers at once');
  return answer;
}

function step(env: Environment, action: Action): StepResult {
  const answer = env.step(action);
  if (answer instanceof Promise) throw new TypeError('answers at once');
  return answer;
}

/** An episode under a policy that is given all observations so far, newest last. */
function play(task: Task, policy: (seen: readonly Observation[]) => Action): StepResult[] {
  const env = corridor.create({});
  const seen = [reset(env, task)];
  const results: StepResult[] = [];
  while (results.length < corridor.catalog.maxSteps && results.at(-1)?.terminated !== true) {
    const result = step(env, policy(seen));
    results.push(result);
    seen.push(result.observation);
  }
  return results;
}

function successOf(policy: (seen: readonly Observation[]) => Action): number {
  return TASKS.filter((task) => play(task, policy).at(-1)?.success).length / TASKS.length;
}

const keyOf = ({ features }: Observation): string => JSON.stringify(features);
const newestOf = (seen: readonly Observation[]): string => seen.slice(-1).map(keyOf).join('');
const cueIn = (seen: readonly Observation[]): number =>
  seen.map(({ features }) => features?.[0] ?? 0).findLast((cue) => cue !== 0) ?? 0;

/** Every different observation that any actions lead to. */
function reachable(): string[] {
  const keys = new Set<string>();
  for (const task of TASKS) {
    for (let actions = 0; actions < 2 ** 8; actions++) {
      let taken = 0;
      play(task, (seen) => {
        keys.add(newestOf(seen));
        // An episode that goes on after eight steps shows nothing that it has not shown.
        return input((actions >> (taken++ % 8)) % 2 === 0 ? 'left' : 'right');
      });
    }
  }
  return [...keys];
}

describe('the corridor', () => {
  test('its oracle, which remembers, succeeds always, in 4 to 6 steps', () => {
    for (const task of TASKS) {
      const oracle = corridor.createOracle!(task);
      const results = play(task, (seen) => oracle(seen.at(-1)!));
      expect(results.at(-1)?.success).toBe(true);
      expect(results.length).toBe(4 + Number(task.params['delay']));
    }
    expect(new Set(TASKS.map(({ params }) => JSON.stringify(params))).size).toBe(6);
  });

  test('the best of all policies that see only the newest observation succeeds in half of the tasks', () => {
    const keys = reachable();
    // The cue of either side, the shut gate without a cue, and the open one in the middle and on both sides of it.
    expect(keys).toHaveLength(6);
    const successes = Array.from({ length: 2 ** keys.length }, (_, table) => {
      const actions = new Map(keys.map((key, i) => [key, input((table >> i) % 2 === 0 ? 'left' : 'right')]));
      return successOf((seen) => actions.get(newestOf(seen))!);
    });
    expect(Math.max(...successes)).toBe(0.5);
  });

  test('nor does chance help: after the cue both sides look the same, whatever was and is done', () => {
    const choices = fc.array(fc.constantFrom('left', 'right'), { minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(choices, choices, fc.nat(2), (early, late, delay) => {
        const gate = 2 + delay;
        const [left = [], right = []] = ['left', 'right'].map((side, i) => {
          const task = TASKS.find(({ params }) => params['side'] === side && params['delay'] === delay)!;
          let taken = 0;
          // Until the gate opens, even doing other things leads to the same place.
          return play(task, () => {
            const chosen = taken < gate && i === 1 ? early[taken] : late[taken];
            taken++;
            return input(chosen ?? 'left');
          });
        });
        expect(left.slice(1, -1).map(({ observation }) => observation)).toEqual(
          right.slice(1, -1).map(({ observation }) => observation),
        );
        expect(left.slice(0, -1).map(({ components }) => components)).toEqual(
          right.slice(0, -1).map(({ components }) => components),
        );
        expect(left.length).toBe(right.length);
        // Whoever comes to an end succeeds on exactly one of the two sides.
        const ends = [left, right].map((results) => results.at(-1));
        const successes = ends.filter((end) => end?.success).length;
        expect(successes).toBe(ends[0]?.terminated === true ? 1 : 0);
      }),
    );
  });

  test.each([
    [1, 1 / 2],
    [2, 2 / 3],
    [3, 5 / 6],
    [4, 1],
  ])('who looks for the cue in the newest %i observations succeeds in %f of the tasks', (window, wanted) => {
    const policy = (seen: readonly Observation[]): Action => {
      const [, position = 0] = seen.at(-1)?.features ?? [];
      const lean = position === 0 ? cueIn(seen.slice(-window)) : position;
      return input(lean > 0 ? 'right' : 'left');
    };
    expect(successOf(policy)).toBeCloseTo(wanted, 10);
  });

  test('the right end pays success, the other one wrong_end, every step time', () => {
    const results = ['left', 'right'].map((side) => play(TASKS[0]!, () => input(side)));
    expect(results.map((each) => each.map(({ components }) => components))).toEqual([
      [{ time: -1 }, { time: -1 }, { time: -1 }, { time: -1, success: 1 }],
      [{ time: -1 }, { time: -1 }, { time: -1 }, { time: -1, wrong_end: -1 }],
    ]);
    expect(results[1]?.at(-1)).toMatchObject({ terminated: true, success: false, failure: 'wrong_result' });
  });

  test('shows the cue in the first two observations only', () => {
    const env = corridor.create({});
    const first = reset(env, TASKS[3]!);
    const seen = [first, ...['left', 'right', 'left'].map((side) => step(env, input(side)).observation)];
    expect(seen.map(({ features }) => features)).toEqual([
      [1, 0, 0],
      [1, 0, 0],
      [0, 0, 0],
      [0, 0, 1],
    ]);
    expect(seen.map(({ lines }) => lines[1])).toEqual([
      'cue right, gate shut, position 0',
      'cue right, gate shut, position 0',
      'cue gone, gate shut, position 0',
      'cue gone, gate open, position 0',
    ]);
  });

  test('refuses params that are no corridor', () => {
    const env = corridor.create({});
    const task = { ...TASKS[0]!, params: { side: 'left', delay: 7 } };
    expect(() => reset(env, task)).toThrow(
      expect.objectContaining({
        code: 'environment-invalid',
        message: expect.stringContaining('corridor/cue/held_out/0 are no corridor'),
      }),
    );
  });
});
