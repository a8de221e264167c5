import { describe, expect, it } from 'vitest';
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
