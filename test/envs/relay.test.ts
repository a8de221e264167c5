import { expect, test } from 'vitest';
import type { Environment, StepResult } from '../../envs/contract.ts';
import { relay } from '../../envs/relay/definition.ts';
import type { Action, Observation } from '../../src/domain/space.ts';
import type { Split, Task } from '../../src/domain/task.ts';

function taskOf(family: string, index: number, split: Split = 'train'): Task {
  return relay.createTask({ env: 'relay', family, split, index });
}

function begin(task: Task, seed = 1): { env: Environment; seen: Observation } {
  const env = relay.create({});
  const seen = env.reset(task, seed);
  if (seen instanceof Promise) throw new Error('relay answers at once');
  return { env, seen };
}

function take(env: Environment, action: Action): StepResult {
  const result = env.step(action);
  if (result instanceof Promise) throw new Error('relay answers at once');
  return result;
}

/** What items are called in 200 tasks. */
function namesOf(split: Split): Set<string> {
  const tasks = Array.from({ length: 200 }, (_, index) => taskOf('crowd', index, split));
  return new Set(tasks.flatMap((task) => itemsOf(begin(task).env)));
}

function itemsOf(env: Environment): string[] {
  return env.look?.('listener').candidates.map(({ text }) => text) ?? [];
}

const say = (argument: string): Action => ({ type: 'input', argument });
const choose = (argument: string): Action => ({ type: 'select_tool', argument });
const WAIT: Action = { type: 'noop', argument: null };

/** A word that is not the meant item's. */
function lie(task: Task): string {
  return ['red', 'green', 'blue'].find((colour) => !task.text.includes(colour)) ?? '';
}

test('only the speaker sees what is meant: the listener sees the same of two tasks that differ in that alone', () => {
  for (const family of ['colour', 'pair', 'crowd']) {
    const task = taskOf(family, 3);
    const sights = (meant: number): Observation[] => {
      const { env } = begin({ ...task, params: { ...task.params, meant } });
      return [env.look?.('listener') ?? { lines: [], legal: [], candidates: [] }];
    };
    expect(sights(0)).toEqual(sights(1));
    expect(begin(task).seen).toMatchObject({ agent: 'speaker', legal: ['input'] });
    expect(begin(task).seen.lines[0]).toContain('colour');
  }
});

test('the listener hears each word, and what it chooses ends the episode for both alike', () => {
  const task = taskOf('pair', 5);
  const [, colour = '', shape = ''] = /colour (\w+) and shape (\w+)/u.exec(task.text) ?? [];
  const { env, seen } = begin(task);
  expect(seen.candidates.map(({ text }) => text).toSorted()).toEqual(
    ['red', 'green', 'blue', 'amber', 'round', 'square', 'flat', 'bent'].toSorted(),
  );
  const first = take(env, say(colour));
  expect(first).toMatchObject({ components: { progress: 1 }, effective: true, terminated: false });
  expect(first.observation).toMatchObject({ agent: 'listener', legal: ['select_tool', 'noop'] });
  expect(first.observation.lines.at(-1)).toBe(`heard ${colour}`);
  const waited = take(env, WAIT);
  expect(waited.observation.agent).toBe('speaker');
  expect(waited.observation.lines.at(-1)).toBe(`said ${colour}`);
  // Said again it tells nothing, and is not paid again.
  expect(take(env, say(colour))).toMatchObject({ components: {}, effective: false });
  take(env, WAIT);
  const last = take(env, say(shape));
  // Nothing more will be said.
  expect(last.observation.legal).toEqual(['select_tool']);
  const line = last.observation.lines.find((text) => text.includes(`${colour} ${shape} `)) ?? '';
  const [, meant = ''] = new RegExp(`${colour} ${shape} (\\w+)`, 'u').exec(line) ?? [];
  expect(take(env, choose(meant))).toMatchObject({
    components: { success: 1 },
    paid: { speaker: { success: 1 } },
    terminated: true,
    success: true,
    failure: null,
  });
});

test('a false word is no progress, and a wrong choice is a failure for both', () => {
  const task = taskOf('colour', 2);
  const { env } = begin(task);
  const { observation, components } = take(env, say(lie(task)));
  expect(components).toEqual({});
  const items = observation.candidates.map(({ text }) => text);
  const results = items.map((item) => {
    const again = begin(task).env;
    take(again, say(lie(task)));
    return take(again, choose(item));
  });
  expect(results.filter(({ success }) => success)).toHaveLength(1);
  for (const { success, failure, components: paid, paid: others } of results) {
    expect(failure).toBe(success ? null : 'wrong_result');
    expect(others).toEqual({ speaker: paid });
  }
});

test('what was not on offer to whose turn it is, or comes too early or too late, is refused', () => {
  const task = taskOf('colour', 2);
  expect(() => relay.create({}).step(say('red'))).toThrow('before an episode');
  const { env } = begin(task);
  expect(() => env.step(WAIT)).toThrow('noop was not on offer to the speaker');
  expect(() => env.step(say('purple'))).toThrow('input "purple" was not on offer to the speaker');
  const { observation } = take(env, say('red'));
  expect(() => env.step(say('red'))).toThrow('input "red" was not on offer to the listener');
  take(env, choose(observation.candidates[0]?.text ?? ''));
  expect(() => env.step(say('red'))).toThrow('after the end of its episode');
  expect(() => env.look?.('teacher')).toThrow('nobody called "teacher"');
  expect(() => taskOf('colour', 10_000)).toThrow('there is no task relay/colour/train/10000');
  expect(() => taskOf('shape', 0)).toThrow('"relay" has the families colour, pair, crowd');
  expect(() => relay.create({}).reset({ ...task, params: { ...task.params, meant: 3 } }, 1)).toThrow(
    'no item is meant',
  );
});

test('items of a held-out task have names that no training task has', () => {
  expect([...namesOf('train')].filter((name) => namesOf('held_out').has(name))).toEqual([]);
});
