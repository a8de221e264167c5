import { describe, expect, it } from 'vitest';
import { episodeId } from '../../src/domain/id.ts';
import { type Plan, Scheduler } from '../../src/run/scheduler.ts';

const plan: Plan = {
  task: { env: 'workbench', family: 'reference', split: 'train', index: 1 },
  phase: 'train',
  mode: 'sampled',
  iteration: 1,
};

function firstSeeds(runSeed: number): number[] {
  const scheduler = new Scheduler(runSeed, 0);
  return [scheduler.assign(plan, 0).seed, scheduler.assign(plan, 1).seed];
}

describe('the scheduler', () => {
  it('numbers episodes on from the last one that was stored', () => {
    const scheduler = new Scheduler(1, 41);
    expect(scheduler.assign(plan, 0).id).toBe('e42');
    expect(scheduler.assign(plan, 0).id).toBe('e43');
  });

  it('gives an episode the same seed in every run of the same seed', () => {
    expect(firstSeeds(5)).toEqual(firstSeeds(5));
    expect(firstSeeds(5)).not.toEqual(firstSeeds(6));
  });

  it('takes an episode once, and only from the worker that has it', () => {
    const scheduler = new Scheduler(1, 0);
    const { id } = scheduler.assign(plan, 0);
    expect(scheduler.complete(id, 1)).toBe(false);
    expect(scheduler.complete(id, 0)).toBe(true);
    expect(scheduler.complete(id, 0)).toBe(false);
  });

  it('gives what a lost worker had out again: same id, same seed, next attempt', () => {
    const scheduler = new Scheduler(1, 0);
    const first = scheduler.assign(plan, 0);
    scheduler.assign({ ...plan, phase: 'eval' }, 0);
    scheduler.assign(plan, 1);
    expect(scheduler.lose(0)).toBe(2);
    expect(scheduler.inFlight).toBe(1);
    expect(scheduler.reassign(1, 'train')).toEqual({ ...first, attempt: 2 });
    expect(scheduler.reassign(1, 'train')).toBeNull();
    expect(scheduler.reassign(1, 'eval')?.attempt).toBe(2);
    expect(scheduler.complete(first.id, 0)).toBe(false);
    expect(scheduler.complete(first.id, 1)).toBe(true);
  });
});

it('counts workers that died with an episode until it is delivered', () => {
  const scheduler = new Scheduler(1, 0);
  const task = { env: 'workbench', family: 'reference', split: 'train', index: 0 } as const;
  const { id } = scheduler.assign({ task, phase: 'train', mode: 'sampled', iteration: 1 }, 0);
  scheduler.suspect(1);
  expect(scheduler.deaths(id)).toBe(0);
  scheduler.suspect(0);
  expect(scheduler.lose(0)).toBe(1);
  expect(scheduler.reassign(1, 'train')).toMatchObject({ id, attempt: 2 });
  scheduler.suspect(1);
  expect(scheduler.deaths(id)).toBe(2);
  expect(scheduler.complete(id, 1)).toBe(true);
  expect(scheduler.deaths(id)).toBe(0);
});

describe('a task whose episode was void', () => {
  it('is given out once more: another id and seed, the next attempt, for the iteration of now', () => {
    const scheduler = new Scheduler(1, 0);
    const first = scheduler.assign(plan, 0);
    scheduler.retry(first.id, 0, 1);
    expect(scheduler.complete(first.id, 0)).toBe(true);
    const again = scheduler.assignVariant(1, 'train', 7);
    expect(again).toMatchObject({ task: plan.task, phase: 'train', attempt: 2, iteration: 7 });
    expect(again?.id).not.toBe(first.id);
    expect(again?.seed).not.toBe(first.seed);
    expect(scheduler.retried).toBe(1);
    expect(scheduler.assignVariant(1, 'eval', 7)).toBeNull();
    expect(scheduler.assignVariant(1, 'train', 7)).toBeNull();
  });

  it.each([0, 1, 3])('is given up after %i further tries', (most) => {
    const scheduler = new Scheduler(1, 0);
    let tried: ReturnType<Scheduler['assignVariant']> = scheduler.assign(plan, 0);
    let tries = 0;
    while (tried !== null) {
      tries++;
      scheduler.retry(tried.id, 0, most);
      scheduler.complete(tried.id, 0);
      tried = scheduler.assignVariant(0, 'train', 1);
    }
    expect(tries).toBe(1 + most);
  });

  it('is not given out again for a delivery that does not count', () => {
    const scheduler = new Scheduler(1, 0);
    const { id } = scheduler.assign(plan, 0);
    scheduler.retry(id, 1, 1);
    scheduler.retry(episodeId(99), 0, 1);
    expect(scheduler.assignVariant(0, 'train', 1)).toBeNull();
  });

  it('keeps the count of its tries when a worker dies with it', () => {
    const scheduler = new Scheduler(1, 0);
    const first = scheduler.assign(plan, 0);
    scheduler.retry(first.id, 0, 1);
    scheduler.complete(first.id, 0);
    const again = scheduler.assignVariant(0, 'train', 1);
    scheduler.lose(0);
    const third = scheduler.reassign(1, 'train');
    expect(third).toMatchObject({ id: again?.id, attempt: 3 });
    scheduler.retry(third!.id, 1, 1);
    expect(scheduler.assignVariant(1, 'train', 1)).toBeNull();
  });
});
