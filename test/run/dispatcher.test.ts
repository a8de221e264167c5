import { describe, expect, it } from 'vitest';
import type { Assignment } from '../../src/domain/episode.ts';
import type { Catalog } from '../../src/domain/task.ts';
import { Dispatcher } from '../../src/run/dispatcher.ts';
import { episodeSummary } from '../support/summary.ts';

const catalog: Catalog = {
  env: 'workbench',
  version: '1',
  maxSteps: 30,
  families: [
    { name: 'sound', train: 1000, heldOut: 5 },
    { name: 'shaky', train: 1000, heldOut: 5 },
  ],
};

function createDispatcher(retries: number, adapt = true): Dispatcher {
  const dispatcher = new Dispatcher({
    seed: 5,
    lastSequence: 0,
    curriculum: { adapt, floor: 0.25 },
    curriculumState: null,
    evaluationEpisodes: 4,
    retries,
    clock: () => 0,
  });
  dispatcher.setCatalog(catalog);
  return dispatcher;
}

function next(dispatcher: Dispatcher): Assignment {
  const assignment = dispatcher.next(0, 1, true);
  if (assignment === null) throw new Error('nothing is given out');
  return assignment;
}

function finish(dispatcher: Dispatcher, assignment: Assignment, isVoid: boolean): boolean {
  const outcome = isVoid
    ? ({ failure: 'env_crash', trust: 'void', success: false, reward: null } as const)
    : ({ success: true } as const);
  return dispatcher.complete(episodeSummary({ ...assignment, ...outcome }), 0);
}

/** The first 200 training tasks whose episodes count, where some are void. */
function tasksThatCount(isVoid: (assignment: Assignment) => boolean): string[] {
  const dispatcher = createDispatcher(1, false);
  const tasks: string[] = [];
  while (tasks.length < 200) {
    const given = next(dispatcher);
    finish(dispatcher, given, isVoid(given));
    if (!isVoid(given)) tasks.push(`${given.task.family} ${given.task.index}`);
  }
  return tasks;
}

describe('void episodes', () => {
  it('do not cost their family its share: as many count of each as were drawn', () => {
    // Nothing is learned from: both draw the same tasks.
    const drawn = tasksThatCount(() => false);
    const shaken = tasksThatCount(({ task, attempt }) => task.family === 'shaky' && attempt === 1);
    expect(drawn.filter((task) => task.startsWith('shaky')).length).toBeGreaterThan(50);
    expect(shaken).toEqual(drawn);
  });

  it('are tried again at once, once, in another variant, and then left out', () => {
    const dispatcher = createDispatcher(1);
    const first = next(dispatcher);
    finish(dispatcher, first, true);
    const second = next(dispatcher);
    expect(second).toMatchObject({ task: first.task, attempt: 2 });
    expect([second.id, second.seed]).not.toEqual([first.id, first.seed]);
    finish(dispatcher, second, true);
    expect(next(dispatcher).attempt).toBe(1);
    expect(dispatcher.retried).toBe(1);
  });

  it('are not tried again when the config says so', () => {
    const dispatcher = createDispatcher(0);
    const first = next(dispatcher);
    finish(dispatcher, first, true);
    expect(next(dispatcher).attempt).toBe(1);
    expect(dispatcher.retried).toBe(0);
  });

  it('leave an evaluation as many episodes as it planned', () => {
    const dispatcher = createDispatcher(1);
    expect(dispatcher.beginEvaluation(3, 2)).toBe(true);
    const tasks: string[] = [];
    for (let given = dispatcher.next(0, 3, false); given !== null; given = dispatcher.next(0, 3, false)) {
      const isVoid = given.attempt === 1;
      finish(dispatcher, given, isVoid);
      if (!isVoid) tasks.push(`${given.mode} ${given.task.family} ${given.task.index}`);
    }
    expect(new Set(tasks).size).toBe(8);
    expect(dispatcher.takeEvaluation()).toMatchObject([
      { mode: 'sampled', episodes: 4, success: 1 },
      { mode: 'greedy', episodes: 4, success: 1 },
    ]);
  });

  it('end an evaluation all the same when every try is void', () => {
    const dispatcher = createDispatcher(2);
    dispatcher.beginEvaluation(3, 2);
    let tries = 0;
    for (let given = dispatcher.next(0, 3, false); given !== null; given = dispatcher.next(0, 3, false)) {
      tries++;
      finish(dispatcher, given, true);
    }
    expect(tries).toBe(8 * 3);
    expect(dispatcher.takeEvaluation()).toEqual([]);
  });
});
