import { describe, expect, test } from 'vitest';
import { checkEnvironment } from '../../../envs/conformance.ts';
import { waiting } from '../../../envs/waiting/definition.ts';
import type { Action } from '../../../src/domain/space.ts';

const call = (argument: string): Action => ({ type: 'select_tool', argument });
const task = (family: string, index: number, split: 'train' | 'held_out' = 'train') =>
  waiting.createTask({ env: 'waiting', family, split, index });

/** Steps of the first tasks of a family. */
function lengths(family: string): number[] {
  return Array.from({ length: 400 }, (_, index) => Number(task(family, index).params['steps']));
}

/** How long each call of an episode took, ms. */
async function latencies(options: Record<string, unknown>, seed: number): Promise<number[]> {
  const env = waiting.create(options);
  await env.reset(task('short', 0), seed);
  const taken: number[] = [];
  for (let last = false; !last; ) {
    const started = performance.now();
    last = (await env.step(call('alpha'))).terminated;
    taken.push(performance.now() - started);
  }
  return taken;
}

/** The state after a call whose latency was drawn, for an episode of that seed. */
async function drawn(seed: number): Promise<unknown> {
  const env = waiting.create({ latencyMs: 4, jitter: 1 });
  await env.reset(task('short', 0), seed);
  await env.step(call('alpha'));
  return env.getState();
}

describe('the environment that waits', () => {
  test('keeps the contract while it really waits, and while it is built', async () => {
    const env = { latencyMs: 0.6, jitter: 1, resetMs: 1, buildMs: 1 };
    expect(await checkEnvironment(waiting, { episodes: 1, seed: 1, env })).toEqual([]);
  });

  test.each([
    ['short', 3, 5],
    ['turns', 20, 20],
    ['long', 100, 120],
    ['mixed', 3, 120],
  ])('episodes of %s take %i to %i steps', (family, fewest, most) => {
    const steps = lengths(family);
    expect(Math.min(...steps)).toBe(fewest);
    expect(Math.max(...steps)).toBe(most);
  });

  test('an episode takes its steps whatever is called, and succeeds only if every call was right', async () => {
    const env = waiting.create({ latencyMs: 0 });
    await env.reset(task('turns', 3), 1);
    const results = [];
    for (let step = 0; step < 20; step++) results.push(await env.step(call('beta')));
    expect(results.filter(({ terminated }) => terminated)).toHaveLength(1);
    expect(results.at(-1)).toMatchObject({ terminated: true, success: false, failure: 'wrong_result' });
    const right = results.filter(({ components }) => components['progress'] === 1).length;
    expect(right).toBeGreaterThan(0);
    expect(right).toBeLessThan(20);
    await expect(async () => await env.step(call('beta'))).rejects.toThrow(/after the end of its episode/u);
  });

  test('a call takes the latency at least, and with jitter as long for the same seed and not for another', async () => {
    for (const ms of await latencies({ latencyMs: 20 }, 1)) expect(ms).toBeGreaterThan(18);
    expect(await drawn(1)).toEqual(await drawn(1));
    expect(await drawn(1)).not.toEqual(await drawn(2));
  });

  test('the first reset waits until it is built, the second does not; a full reset builds it again', async () => {
    const env = waiting.create({ latencyMs: 0, buildMs: 30 });
    const resetMs = async (): Promise<number> => {
      const started = performance.now();
      await env.reset(task('short', 0), 1);
      return performance.now() - started;
    };
    expect(await resetMs()).toBeGreaterThan(25);
    expect(env.reset(task('short', 0), 1)).not.toBeInstanceOf(Promise);
    const rebuilt = env.fullReset();
    expect(rebuilt).toBeInstanceOf(Promise);
    await rebuilt;
    expect(env.reset(task('short', 0), 1)).not.toBeInstanceOf(Promise);
  });

  test('what it has not got is refused with what it has', async () => {
    expect(() => waiting.create({ latency: 3 })).toThrow(/options of the environment "waiting".*latency/su);
    expect(() => task('slow', 0)).toThrow(/families short, turns, long, mixed/u);
    expect(() => task('turns', 500, 'held_out')).toThrow(/500 held_out tasks each/u);
    const env = waiting.create({ latencyMs: 0 });
    await expect(async () => await env.step(call('alpha'))).rejects.toThrow(/before an episode/u);
    await env.reset(task('short', 0), 1);
    await expect(async () => await env.step(call('omega'))).rejects.toThrow(/"omega".*not on offer/u);
    const foreign = { ...task('short', 0), params: { steps: 0 } };
    await expect(async () => await env.reset(foreign, 1)).rejects.toThrow(/not those of "waiting"/u);
  });
});
