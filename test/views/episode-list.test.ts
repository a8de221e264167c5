import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRunReader, type RunReader } from '../../src/store/queries.ts';
import { EpisodeList } from '../../views/episode-list.ts';
import { appendEpisodes, FakeRun } from './fake-run.ts';

let run: FakeRun;
let reader: RunReader;
let list: EpisodeList;
/** Later than any count before: counts are not done at every look. */
let now: number;

beforeEach(async () => {
  run = await FakeRun.start({ iterations: 0, episodes: 450 });
  reader = openRunReader(run.paths);
  list = new EpisodeList();
  list.resize(5);
  now = 0;
  look();
});

afterEach(async () => {
  reader.close();
  await run.remove();
});

function look(): void {
  now += 5000;
  list.refresh(reader, now);
}

function ids(): string[] {
  return list.view.rows.map(({ id }) => id);
}

describe('EpisodeList', () => {
  it('follows new episodes until the user moves', () => {
    expect(ids()).toEqual(['e450', 'e449', 'e448', 'e447', 'e446']);
    appendEpisodes(run.store, 451, 452);
    look();
    expect(ids()[0]).toBe('e452');
    expect(list.view).toMatchObject({ following: true, total: 452, fresh: 0 });
  });

  it('keeps still after a move and counts what is new', () => {
    list.move(reader, 1);
    appendEpisodes(run.store, 451, 578);
    look();
    expect(ids()[0]).toBe('e450');
    expect(list.selected?.id).toBe('e449');
    expect(list.view).toMatchObject({ following: false, total: 578, fresh: 128 });
  });

  it('follows again from the first row', () => {
    list.move(reader, 3);
    appendEpisodes(run.store, 451, 460);
    list.toFirst(reader, now);
    expect(list.view).toMatchObject({ following: true, selected: 0, fresh: 0 });
    expect(ids()[0]).toBe('e460');
  });

  it('walks through pages in both directions without losing its place', () => {
    list.move(reader, 320);
    expect(list.selected?.id).toBe('e130');
    list.move(reader, -320);
    expect(list.selected?.id).toBe('e450');
    list.move(reader, 9999);
    expect(list.selected?.id).toBe('e1');
    list.move(reader, 1);
    expect(list.selected?.id).toBe('e1');
  });

  it('jumps to the last row and goes up from there', () => {
    list.toLast(reader);
    expect(list.selected?.id).toBe('e1');
    expect(ids()).toEqual(['e5', 'e4', 'e3', 'e2', 'e1']);
    list.move(reader, -2);
    expect(list.selected?.id).toBe('e3');
    list.move(reader, -2);
    expect(ids()[0]).toBe('e5');
  });

  it('jumps to the last row of a list in another order', () => {
    list.filterBy('sort:steps');
    look();
    list.toLast(reader);
    expect(list.view.selected).toBe(449);
  });

  it('filters by text and by failure type together', () => {
    list.filterBy('id<=100');
    look();
    expect(list.view.total).toBe(100);
    list.nextFailure();
    look();
    expect(list.view.failure).toBe('env_crash');
    expect(list.view.rows.every(({ failure }) => failure === 'env_crash')).toBe(true);
    expect(list.view.total).toBe(list.view.counts['env_crash']);
    list.clear();
    look();
    expect(list.view).toMatchObject({ failure: null, filterText: '', total: 450 });
  });

  it('goes through every outcome that occurs, then shows all again', () => {
    const seen: (string | null)[] = [];
    do {
      list.nextFailure();
      look();
      seen.push(list.view.failure);
    } while (list.view.failure !== null);
    expect(seen).toHaveLength(Object.keys(list.view.counts).length + 1);
    expect(seen.at(-2)).toBe('success');
  });

  it('refuses a wrong filter and keeps the one it had', () => {
    list.filterBy('steps>1');
    expect(() => list.filterBy('stpes>1')).toThrow(/column 1: unknown field "stpes"/u);
    expect(list.view.filterText).toBe('steps>1');
  });

  it('says why it cannot read instead of throwing', () => {
    reader.close();
    look();
    expect(list.view.error).toMatch(/index/u);
    expect(list.view.rows).toEqual([]);
    reader = openRunReader(run.paths);
    look();
    expect(list.view.error).toBeNull();
  });
});
