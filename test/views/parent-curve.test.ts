import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openRunStore } from '../../src/store/index-writer.ts';
import { openRunReader, type RunReader } from '../../src/store/queries.ts';
import { Reading } from '../../src/store/reading.ts';
import { type IterationSpan, ParentCurve, parentSpan } from '../../views/parent-curve.ts';
import { metricsOf as storedMetrics, type TemporaryRuns, temporaryRuns } from '../store/fixture.ts';
import { until } from './driver.ts';
import { FakeRun, metricsOf } from './fake-run.ts';

let fake: FakeRun;
let curve: ParentCurve;
let opened: number;
let now: number;

function nothingFar(): Promise<never> {
  throw new Error('nothing is far in this test');
}

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 3, episodes: 0 });
  opened = 0;
  now = 0;
  curve = new ParentCurve({
    branched: 2,
    open: (): RunReader => {
      opened += 1;
      return openRunReader(fake.paths);
    },
    read: nothingFar,
  });
});

afterEach(async () => {
  curve.close();
  await fake.remove();
});

/** What it knows some time later. */
function look(reached = 3): readonly (readonly [number, number])[] {
  now += 10_000;
  return curve.iterations(now, reached).map(({ iteration, attempt }) => [iteration, attempt]);
}

it('goes on with a parent that goes on, and opens it once', () => {
  expect(look()).toHaveLength(3);
  fake.store.appendIteration(metricsOf(4));
  expect(look()).toHaveLength(4);
  const before = curve.iterations(now, 3);
  look();
  // Charts are drawn again for another array.
  expect(curve.iterations(now, 3)).toBe(before);
  expect(opened).toBe(1);
});

it('does not look at every frame', () => {
  look();
  fake.store.appendIteration(metricsOf(4));
  expect(curve.iterations(now + 1, 3)).toHaveLength(3);
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
  const missing = new ParentCurve({
    branched: 2,
    open: () => {
      opened += 1;
      throw new Error('no such run');
    },
    read: nothingFar,
  });
  expect(missing.iterations(0, 3)).toEqual([]);
  expect(missing.iterations(10_000, 3)).toEqual([]);
  expect(opened).toBe(3);
  expect(look()).toHaveLength(3);
});

it('shows on either side of the branch as much as the branch is long, and 20 at least', () => {
  expect(parentSpan(100, 0)).toEqual({ after: 79, until: 120 });
  expect(parentSpan(100, 110)).toEqual({ after: 79, until: 130 });
  expect(parentSpan(100, 150)).toEqual({ after: 49, until: 200 });
  expect(parentSpan(100, 500)).toEqual({ after: 0, until: 900 });
});

describe('a long parent', () => {
  const LENGTH = 12_000;
  let runs: TemporaryRuns;
  let asked: IterationSpan[];
  let readAtOnce: number;

  beforeEach(() => {
    asked = [];
    readAtOnce = 0;
  });
  beforeAll(() => {
    runs = temporaryRuns();
    const store = openRunStore(runs.run());
    for (let iteration = 1; iteration <= LENGTH; iteration += 1)
      store.appendIteration(storedMetrics(iteration));
    store.close();
  });
  afterAll(() => runs.remove());

  function branchedAt(branched: number): ParentCurve {
    const paths = runs.run();
    const reading = new Reading();
    return new ParentCurve({
      branched,
      open: () => {
        const reader = openRunReader(paths);
        const read = reader.iterations.bind(reader);
        vi.spyOn(reader, 'iterations').mockImplementation((after, last) => {
          const rows = read(after, last);
          readAtOnce += rows.length;
          return rows;
        });
        return reader;
      },
      read: async (span) => {
        asked.push(span);
        return await reading.iterations(paths, span);
      },
    });
  }

  it('is read only as far as it is shown', () => {
    const long = branchedAt(5000);
    const rows = long.iterations(0, 5010);
    expect([rows[0]?.iteration, rows.at(-1)?.iteration]).toEqual([4980, 5030]);
    expect(readAtOnce).toBe(52);
    const later = long.iterations(10_000, 5100);
    expect([later[0]?.iteration, later.at(-1)?.iteration]).toEqual([4900, 5200]);
    expect(asked).toEqual([]);
    long.close();
  });

  it('is read beside the drawing where the part is long, or far on, and again when a good deal is new', async () => {
    const long = branchedAt(5000);
    expect(long.iterations(0, 9000)).toEqual([]);
    await until(() => long.iterations(0, 9000).length > 0);
    expect(asked).toEqual([{ after: 999, until: LENGTH }]);
    const rows = long.iterations(0, 9000);
    expect(rows.length).toBeLessThan(4200);
    expect(rows.at(-1)?.iteration).toBe(LENGTH);
    expect(rows[0]?.iteration).toBeGreaterThanOrEqual(1000);
    expect(long.iterations(10_000, 9001)).toBe(rows);
    expect(asked).toHaveLength(1);
    long.iterations(20_000, 9500);
    expect(asked).toHaveLength(2);
    long.close();
    const far = branchedAt(11_000);
    far.iterations(0, 11_010);
    await until(() => far.iterations(0, 11_010).length > 0);
    expect(far.iterations(0, 11_010)).toHaveLength(51);
    expect(readAtOnce).toBe(0);
    far.close();
  });

  it('goes without what cannot be read, and asks again', async () => {
    const paths = runs.run();
    const broken = new ParentCurve({
      branched: 11_000,
      open: () => openRunReader(paths),
      read: async (span) => {
        asked.push(span);
        return await Promise.reject(new Error('no thread'));
      },
    });
    expect(broken.iterations(0, 0)).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(broken.iterations(10_000, 0)).toEqual([]);
    expect(asked).toHaveLength(2);
    broken.close();
  });
});
