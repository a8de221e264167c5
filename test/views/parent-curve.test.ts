import { afterEach, beforeEach, expect, it } from 'vitest';
import { openRunReader, type RunReader } from '../../src/store/queries.ts';
import { ParentCurve } from '../../views/parent-curve.ts';
import { FakeRun, metricsOf } from './fake-run.ts';

let fake: FakeRun;
let curve: ParentCurve;
let opened: number;
let now: number;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 3, episodes: 0 });
  opened = 0;
  now = 0;
  curve = new ParentCurve((): RunReader => {
    opened += 1;
    return openRunReader(fake.paths);
  });
});

afterEach(async () => {
  curve.close();
  await fake.remove();
});

/** What it knows some time later. */
function look(): readonly (readonly [number, number])[] {
  now += 10_000;
  return curve.iterations(now).map(({ iteration, attempt }) => [iteration, attempt]);
}

it('goes on with a parent that goes on, and opens it once', () => {
  expect(look()).toHaveLength(3);
  fake.store.appendIteration(metricsOf(4));
  expect(look()).toHaveLength(4);
  expect(opened).toBe(1);
});

it('does not look at every frame', () => {
  look();
  fake.store.appendIteration(metricsOf(4));
  expect(curve.iterations(now + 1)).toHaveLength(3);
});

it('takes what a resumed parent did again for what it did before', () => {
  look();
  fake.store.appendIteration(metricsOf(2, { attempt: 2 }));
  fake.store.appendIteration(metricsOf(3, { attempt: 2 }));
  fake.store.appendIteration(metricsOf(4, { attempt: 2 }));
  expect(look()).toEqual([
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 2],
  ]);
});

it('keeps what it knows when the parent cannot be read any more, and tries again', () => {
  look();
  curve.close();
  const missing = new ParentCurve(() => {
    opened += 1;
    throw new Error('no such run');
  });
  expect(missing.iterations(0)).toEqual([]);
  expect(missing.iterations(10_000)).toEqual([]);
  expect(opened).toBe(3);
  expect(look()).toHaveLength(3);
});
