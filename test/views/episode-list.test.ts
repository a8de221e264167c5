import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EpisodeSearch, openEpisodeSearch } from '../../src/store/episode-search.ts';
import { EpisodeList } from '../../views/episode-list.ts';
import type { EpisodeSource } from '../../views/episode-pager.ts';
import { appendEpisodes, FakeRun } from './fake-run.ts';

let run: FakeRun;
let search: EpisodeSearch;
let list: EpisodeList;
/** Later than any count before: counts are not done at every look. */
let now: number;

beforeEach(async () => {
  run = await FakeRun.start({ iterations: 0, episodes: 450 });
  search = openEpisodeSearch(run.paths);
  list = new EpisodeList();
  list.resize(5);
  now = 0;
  await look();
});

afterEach(async () => {
  await search.close();
  await run.remove();
});

async function look(): Promise<void> {
  now += 5000;
  list.refresh(search, now);
  await answered();
}

/** From source the caller's own thread answers: before the event loop turns. */
async function answered(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** Answers searches when the test says so. */
class HeldSource implements EpisodeSource {
  readonly #real: EpisodeSource;
  readonly #held: ((refused: boolean) => void)[] = [];

  constructor(real: EpisodeSource) {
    this.#real = real;
  }

  async search(...asked: Parameters<EpisodeSource['search']>): ReturnType<EpisodeSource['search']> {
    const refused = await new Promise<boolean>((resolve) => void this.#held.push(resolve));
    return refused ? null : await this.#real.search(...asked);
  }

  async facets(...asked: Parameters<EpisodeSource['facets']>): ReturnType<EpisodeSource['facets']> {
    return await this.#real.facets(...asked);
  }

  /** Answers the n-th search, from 0; with null, as one that a newer took the place of. */
  async answer(index: number, found?: null): Promise<void> {
    const resolve = this.#held[index];
    if (resolve === undefined) throw new Error(`search ${index} was not asked`);
    resolve(found === null);
    await answered();
  }
}

function ids(): string[] {
  return list.view.rows.map(({ id }) => id);
}

describe('EpisodeList', () => {
  it('does not say that there is nothing before it was answered', async () => {
    list = new EpisodeList();
    expect(list.view).toMatchObject({ rows: [], isSearching: true });
    await look();
    expect(list.view).toMatchObject({ total: 450, isSearching: false });
  });

  it('follows new episodes until the user moves', async () => {
    expect(ids()).toEqual(['e450', 'e449', 'e448', 'e447', 'e446']);
    appendEpisodes(run.store, 451, 452);
    await look();
    expect(ids()[0]).toBe('e452');
    expect(list.view).toMatchObject({ following: true, total: 452, fresh: 0 });
  });

  it('keeps still after a move and counts what is new', async () => {
    list.move(search, 1);
    await answered();
    appendEpisodes(run.store, 451, 578);
    await look();
    expect(ids()[0]).toBe('e450');
    expect(list.selected?.id).toBe('e449');
    expect(list.view).toMatchObject({ following: false, total: 578, fresh: 128 });
  });

  it('follows again from the first row', async () => {
    list.move(search, 3);
    await answered();
    appendEpisodes(run.store, 451, 460);
    list.toFirst(search, now);
    await answered();
    expect(list.view).toMatchObject({ following: true, selected: 0, fresh: 0 });
    expect(ids()[0]).toBe('e460');
  });

  it('walks through pages in both directions without losing its place', async () => {
    list.move(search, 320);
    await answered();
    expect(list.selected?.id).toBe('e130');
    list.move(search, -320);
    await answered();
    expect(list.selected?.id).toBe('e450');
    list.move(search, 9999);
    await answered();
    expect(list.selected?.id).toBe('e1');
    list.move(search, 1);
    await answered();
    expect(list.selected?.id).toBe('e1');
  });

  it('jumps to the last row and goes up from there', async () => {
    list.toLast(search);
    await answered();
    expect(list.selected?.id).toBe('e1');
    expect(ids()).toEqual(['e5', 'e4', 'e3', 'e2', 'e1']);
    list.move(search, -2);
    await answered();
    expect(list.selected?.id).toBe('e3');
    list.move(search, -2);
    await answered();
    expect(ids()[0]).toBe('e5');
  });

  it('jumps to the last row of a list in another order', async () => {
    list.filterBy('sort:steps');
    await look();
    list.toLast(search);
    await answered();
    expect(list.view.selected).toBe(449);
  });

  it('filters by text and by failure type together', async () => {
    list.filterBy('id<=100');
    await look();
    expect(list.view.total).toBe(100);
    list.nextFailure();
    await look();
    expect(list.view.failure).toBe('env_timeout');
    expect(list.view.rows.every(({ failure }) => failure === 'env_timeout')).toBe(true);
    expect(list.view.total).toBe(list.view.counts['env_timeout']);
    list.clear();
    await look();
    expect(list.view).toMatchObject({ failure: null, filterText: '', total: 450 });
  });

  it('goes through every outcome that occurs, then shows all again', async () => {
    const seen: (string | null)[] = [];
    do {
      list.nextFailure();
      await look();
      seen.push(list.view.failure);
    } while (list.view.failure !== null);
    expect(seen).toHaveLength(Object.keys(list.view.counts).length + 1);
    expect(seen.at(-2)).toBe('success');
    const { counts } = list.view;
    const often = seen.slice(0, -2).map((outcome) => counts[outcome ?? ''] ?? 0);
    expect(often).toEqual(often.toSorted((a, b) => b - a));
  });

  it('refuses a wrong filter and keeps the one it had', async () => {
    list.filterBy('steps>1');
    expect(() => list.filterBy('stpes>1')).toThrow(/column 1: unknown field "stpes"/u);
    expect(list.view.filterText).toBe('steps>1');
  });

  it('says why it cannot read instead of throwing', async () => {
    await search.close();
    await look();
    expect(list.view.error).toMatch(/index/u);
    expect(list.view.rows).toEqual([]);
    search = openEpisodeSearch(run.paths);
    await look();
    expect(list.view.error).toBeNull();
  });

  it('keeps its rows until newer ones are there, and drops what was asked for a filter of before', async () => {
    const source = new HeldSource(search);
    list.refresh(source, (now += 5000));
    appendEpisodes(run.store, 451, 452);
    list.filterBy('id<=100');
    expect(list.view).toMatchObject({ rows: [], isSearching: true });
    list.refresh(source, now);
    list.move(source, 2);
    list.move(source, 1);
    await source.answer(0);
    expect(list.view).toMatchObject({ rows: [], isSearching: true });
    await source.answer(1);
    expect(ids()[0]).toBe('e100');
    // What was pressed meanwhile is done then.
    expect(list.selected?.id).toBe('e97');
    expect(list.view).toMatchObject({ isSearching: false, following: false, total: 100 });
  });

  it('goes to a far row at once when all of its window is there, from what was asked last', async () => {
    const source = new HeldSource(search);
    let shown = '';
    list.move(source, 150, () => {
      shown = list.selected?.id ?? '';
    });
    list.move(source, 150, () => {
      shown = list.selected?.id ?? '';
    });
    expect(ids()[0]).toBe('e450');
    await source.answer(0);
    await source.answer(1);
    expect(ids()[0]).toBe('e450');
    expect(shown).toBe('');
    await source.answer(2);
    expect(shown).toBe('e150');
    expect(list.selected?.id).toBe('e150');
    list.move(source, -1);
    expect(list.selected?.id).toBe('e151');
  });

  it('follows again only when the newest page is there', async () => {
    const source = new HeldSource(search);
    list.move(source, 3);
    appendEpisodes(run.store, 451, 460);
    list.toFirst(source, now);
    expect(list.selected?.id).toBe('e447');
    await source.answer(0);
    expect(list.selected?.id).toBe('e460');
  });

  it('asks again for what another question took the place of', async () => {
    const source = new HeldSource(search);
    list.move(source, 200);
    await source.answer(0, null);
    expect(list.selected?.id).toBe('e450');
    await look();
    expect(list.selected?.id).toBe('e250');
  });
});
