import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Journal } from '../../src/run/journal.ts';
import { StoreGrowth } from '../../src/run/store-growth.ts';
import { StoreKeeper } from '../../src/run/store-keeper.ts';
import { writeArchiveFiles } from '../../src/store/archive-files.ts';
import { openRunStore, type RunStore } from '../../src/store/index-writer.ts';
import { openRunReader } from '../../src/store/queries.ts';
import { directoryBytes, type RunPaths } from '../../src/store/run-directory.ts';
import { bodyOf, finished, manifestOf, summaryOf, temporaryRuns } from '../store/fixture.ts';

const runs = temporaryRuns();
afterAll(() => runs.remove());

describe('StoreGrowth', () => {
  it('tells no rate at first, then that of the last ten minutes', () => {
    const growth = new StoreGrowth();
    for (let second = 0; second <= 25; second += 5) growth.observe(second * 1000, second * 1000);
    expect([growth.bytesPerHour, growth.secondsUntil(5)]).toEqual([null, null]);
    growth.observe(30_000, 30_000);
    expect(growth.bytesPerHour).toBe(3_600_000);
    expect(growth.secondsUntil(3_600_000)).toBe(3600);
    // It stands still from then on: ten minutes later nothing of the growth is seen any more.
    for (let second = 35; second <= 700; second += 5) growth.observe(second * 1000, 30_000);
    expect(growth.bytesPerHour).toBe(0);
    expect(growth.secondsUntil(1)).toBeNull();
  });

  it('what is given back does not count as less growth', () => {
    const growth = new StoreGrowth();
    growth.observe(0, 1000);
    growth.observe(20_000, 2000);
    growth.observe(30_000, 500);
    growth.observe(40_000, 1500);
    expect(growth.bytes).toBe(1500);
    expect(growth.bytesPerHour).toBe((2000 / 40) * 3600);
  });
});

let runNumber = 0;

interface Kept {
  readonly paths: RunPaths;
  readonly store: RunStore;
  readonly keeperOf: (
    budgetBytes: number | null,
    changes?: Partial<ConstructorParameters<typeof StoreKeeper>[0]>,
  ) => StoreKeeper;
  readonly kinds: () => string[];
}

function keptRun(success: boolean): Kept {
  runNumber += 1;
  const paths = runs.run(`keeper-${runNumber}`);
  const store = openRunStore(paths, { segmentBytes: 7_000 });
  const ending = { success, failure: success ? null : ('gave_up' as const) };
  for (let first = 1; first <= 200; first += 20) {
    store.appendEpisodes(
      Array.from({ length: 20 }, (_, index) =>
        finished(summaryOf(first + index, ending), bodyOf(8, first + index)),
      ),
    );
  }
  const journal = new Journal({ manifest: manifestOf('run'), paths, store, log: () => undefined });
  return {
    paths,
    store,
    keeperOf: (budget, changes = {}) =>
      new StoreKeeper({
        paths,
        store,
        journal,
        budgetGiB: budget === null ? null : budget / 2 ** 30,
        textIndex: false,
        keepSample: 0,
        ...changes,
      }),
    kinds: () => {
      const reader = openRunReader(paths);
      const kinds = reader.events(100).map(({ kind }) => kind);
      reader.close();
      return kinds;
    },
  };
}

/** So many looks, 5 s apart; what was begun by one has ended before the next. */
async function look(keeper: StoreKeeper, times: number, from = 0): Promise<void> {
  for (let at = from; at < from + times; at += 1) {
    keeper.tick(at * 5000);
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('StoreKeeper', () => {
  it('near its budget compacts segment after segment, the oldest first', async () => {
    const { paths, store, keeperOf, kinds } = keptRun(true);
    const before = directoryBytes(paths.root);
    const keeper = keeperOf(before);
    for (let now = 0; kinds().filter((kind) => kind === 'segment-compacted').length < 3; now += 5000) {
      keeper.tick(now);
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    }
    expect(kinds().filter((kind) => kind === 'retention-began')).toHaveLength(1);
    expect(keeper.status()).toMatchObject({ budgetBytes: before });
    const reader = openRunReader(paths);
    expect(() => reader.episode('e1')).toThrow(expect.objectContaining({ code: 'episode-dropped' }));
    const compacted = reader.events(100).filter(({ kind }) => kind === 'segment-compacted');
    const numbers = compacted.map(({ message }) => Number(/segment (\d+)/u.exec(message)?.[1])).toReversed();
    expect(numbers.slice(0, 3)).toEqual([1, 2, 3]);
    reader.close();
    keeper.close();
    store.close();
  });

  it('far from its budget does nothing', async () => {
    const { paths, store, keeperOf, kinds } = keptRun(true);
    const keeper = keeperOf(2 * directoryBytes(paths.root));
    for (let now = 0; now < 10 * 5000; now += 5000) {
      keeper.tick(now);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(kinds()).toEqual([]);
    store.close();
  });

  it('says once that all is to be kept, and the run may go on', async () => {
    const { paths, store, keeperOf, kinds } = keptRun(false);
    const keeper = keeperOf(directoryBytes(paths.root) / 2);
    let looks = 0;
    for (; !kinds().includes('store-over-budget'); looks += 1) await look(keeper, 1, looks);
    await look(keeper, 20, looks);
    expect(kinds().toSorted()).toEqual(['failures-thinned', 'retention-began', 'store-over-budget']);
    keeper.close();
    store.close();
  });

  it('a compaction that fails is told once, tried again ever more seldom, and told when it works again', async () => {
    const { paths, store, keeperOf, kinds } = keptRun(true);
    let tries = 0;
    let isBroken = true;
    store.compactOldest = async () => {
      tries += 1;
      if (isBroken) throw new Error('the disk is on fire');
      return await Promise.resolve(null);
    };
    const keeper = keeperOf(directoryBytes(paths.root));
    // An hour: at 0, 10, 30, 70, 150, 310, 630, 1230 s and so on, every ten minutes.
    await look(keeper, 720);
    expect(tries).toBe(11);
    expect(kinds().toSorted()).toEqual(['compaction-failed', 'retention-began']);
    isBroken = false;
    await look(keeper, 121, 720);
    expect(kinds().filter((kind) => kind.startsWith('compaction-'))).toEqual([
      'compaction-goes-on',
      'compaction-failed',
    ]);
    keeper.close();
    store.close();
  });

  it.each([
    ['missing', () => undefined],
    ['damaged', (paths: RunPaths) => writeFileSync(paths.text, 'nonsense '.repeat(2000))],
  ])(
    'a text index that is %s has read nothing: all is spared until the budget is passed',
    async (_, harm) => {
      const { paths, store, keeperOf, kinds } = keptRun(true);
      harm(paths);
      const bytes = directoryBytes(paths.root);
      const within = keeperOf(bytes * 1.1, { textIndex: true });
      await look(within, 20);
      within.close();
      expect(kinds()).toContain('retention-began');
      expect(kinds()).not.toContain('segment-compacted');
      const beyond = keeperOf(bytes * 0.9, { textIndex: true });
      for (let at = 0; !kinds().includes('segment-compacted'); at += 1) await look(beyond, 1, at);
      beyond.close();
      store.close();
    },
  );

  it('what was archived in the directory of the run does not count', () => {
    const { paths, store, keeperOf } = keptRun(true);
    const bytes = directoryBytes(paths.root);
    const files = [
      { number: 1, path: 'archive/part.parquet', bytes: 100_000, episodes: 1 },
      { number: 2, path: 'archive/gone.parquet', bytes: 100_000, episodes: 1 },
      { number: 3, path: '/elsewhere/part.parquet', bytes: 100_000, episodes: 1 },
    ];
    mkdirSync(join(paths.root, 'archive'));
    writeFileSync(join(paths.root, 'archive/part.parquet'), Buffer.alloc(100_000));
    writeArchiveFiles(paths.segments, files);
    const list = statSync(join(paths.segments, 'archive.json')).size;
    const keeper = keeperOf(null);
    keeper.tick(0);
    expect(keeper.status().bytes).toBe(bytes + list);
    store.close();
  });

  it('without a budget measures, and warns of a full disk only when that is near', () => {
    const { paths, store, keeperOf, kinds } = keptRun(true);
    const keeper = keeperOf(null);
    keeper.tick(0);
    expect(keeper.status()).toEqual({
      bytes: directoryBytes(paths.root),
      budgetBytes: null,
      bytesPerHour: null,
      fullInS: null,
    });
    expect(kinds()).toEqual([]);
    store.close();
  });
});
