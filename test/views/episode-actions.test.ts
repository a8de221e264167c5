import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseFilter } from '../../src/store/filter.ts';
import { setPin } from '../../src/store/pins.ts';
import { Session } from '../../views/session.ts';
import { driverOf, until } from './driver.ts';
import { FakeRun } from './fake-run.ts';

let fake: FakeRun;
let session: Session;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 2, episodes: 30 });
  session = new Session(fake.sessionOptions);
  session.open('demo-1');
  session.resize({ columns: 119, rows: 40 });
  await until(() => session.client !== null && session.list.view.rows.length > 0);
  press('3');
});

afterEach(async () => {
  session.close();
  await fake.remove();
});

const { press, type, screen } = driverOf(() => session);

function row(id: string): string {
  return screen().find((line) => line.slice(2).startsWith(`${id} `)) ?? '';
}

async function listed(): Promise<void> {
  await until(() => !session.list.view.isSearching && session.list.view.rows.length > 0);
}

describe('the order of the list', () => {
  it('is the sort: of the filter, by the next column and the other way round', async () => {
    press('/');
    type('-is:void "sort:x or" or steps>0');
    press('enter');
    await listed();
    press('s');
    expect(session.list.view.filterText).toBe('-is:void "sort:x or" or steps>0 sort:-reward');
    expect(session.list.sort).toEqual({ field: 'reward', descending: true });
    press('S');
    expect(session.list.view.filterText).toBe('-is:void "sort:x or" or steps>0 sort:reward');
    expect(session.toast?.text).toBe('by reward, the least first');
    press('s', 's', 's', 's', 's', 's');
    expect(session.list.view.filterText).toBe('-is:void "sort:x or" or steps>0');
    press('S');
    await listed();
    expect(session.list.selected?.id).toBe('e1');
  });

  it('says why it cannot be changed', () => {
    writeFileSync(join(fake.runsDirectory, 'filters.json'), JSON.stringify({ long: 'sort:-steps' }));
    press('/');
    type('@long');
    press('enter', 's');
    expect(session.toast?.text).toContain('a second sort');
    expect(session.list.view.filterText).toBe('@long');
  });
});

describe('columns', () => {
  it('are chosen in a menu, and as many as fit are shown', () => {
    press('C');
    expect(session.front).toBe('menu');
    expect(screen()[2]).toMatch(/^› \[x\] as many as fit/u);
    press('j', 'j', 'j', 'enter');
    expect(screen().find((line) => line.startsWith('›'))).toMatch(/^› \[ \] reward/u);
    press('G', 'space', 'escape');
    expect(session.columns).not.toContain('reward');
    expect(session.columns).toContain('note');
    expect(screen().find((line) => line.includes('outcome'))).not.toContain('reward');
    press('C', 'g', 'enter', 'escape');
    expect(session.columns).toBeNull();
    expect(screen().find((line) => line.includes('outcome'))).toContain('reward');
  });
});

describe('pins and notes', () => {
  it('asks the run to pin, and shows what is pinned', async () => {
    press('*');
    await until(() => fake.requests.length > 0);
    expect(fake.requests).toMatchObject([{ command: 'pin', episode: 'e30', pinned: true }]);
    setPin(fake.paths, { episode: 'e30', who: 'ann@box', pinned: true });
    session.marks?.refresh();
    await until(() => row('e30').startsWith('›*'));
    press('/');
    type('@pinned');
    press('enter');
    await listed();
    expect(session.list.view.total).toBe(1);
    press('*');
    await until(() => fake.requests.length > 1);
    expect(fake.requests[1]).toMatchObject({ pinned: false });
  });

  it('has the command line pin the episode of a run that has ended', async () => {
    await fake.die();
    await until(() => session.client === null);
    press('*');
    await until(() => fake.verbs.length > 0);
    expect(fake.verbs).toEqual([['pin', 'demo-1', 'e30']]);
  });

  it('keeps a note beside the run, and shows it in the list and in the replay', async () => {
    press('j', 'N');
    type('odd end');
    expect(screen().at(-2)).toBe('note on e29: odd end_');
    press('enter');
    await until(() => row('e29').startsWith('›"'));
    press('enter');
    expect(screen()[1]).toContain('note odd end');
    press('N', 'backspace', 'ctrl-u', 'enter');
    await until(() => screen()[1]?.includes('odd end') === false);
    expect(JSON.parse(readFileSync(join(fake.paths.root, 'notes.json'), 'utf8'))).toEqual({ notes: [] });
  });

  it('says that a file of notes is damaged, and goes on', async () => {
    writeFileSync(join(fake.paths.root, 'notes.json'), '{');
    session.marks?.refresh();
    await until(() => session.toast?.text.includes('notes.json is damaged') === true);
    expect(row('e30')).not.toBe('');
  });
});

describe('bulk actions', () => {
  it('are about the selection, and ask with its count', async () => {
    press('V', 'V', 'k', 'V');
    expect(session.selection.size).toBe(1);
    expect([...session.selection]).toEqual(['e30']);
    press('V');
    expect(row('e28')).toMatch(/^.\+/u);
    press('B');
    expect(screen()[0]).toBe('2 selected episodes');
    press('enter');
    expect(session.question?.title).toBe('Pin 2 selected episodes?');
    press('enter');
    expect(fake.requests).toEqual([]);
    press('B', 'enter', 'tab', 'enter');
    await until(() => fake.requests.length === 2);
    expect(fake.requests).toMatchObject([{ episode: 'e30' }, { episode: 'e28' }]);
  });

  it('are about all that match without one', async () => {
    press('/');
    type('-is:void steps<99');
    press('enter');
    await listed();
    const { total } = session.list.view;
    press('B');
    expect(screen()[0]).toBe(`${total} episodes that match -is:void steps<99`);
    press('j', 'j', 'enter');
    type('look');
    press('enter');
    await until(() => session.marks?.marks.notes.size === total);
    press('/', 'ctrl-u');
    type('@noted');
    press('enter');
    await listed();
    expect(session.list.view.total).toBe(total);
  });

  it('do nothing to a run that was opened while they were looked for', async () => {
    const search = session.run?.search;
    if (search === undefined) throw new Error('no run is open');
    const found = search.search(parseFilter('id:e30'), { limit: 1 });
    let isThere = false;
    vi.spyOn(search, 'search').mockImplementation(async () => {
      await until(() => isThere);
      return await found;
    });
    press('B', 'enter', 'tab', 'enter');
    await found;
    session.open('demo-1');
    isThere = true;
    await until(() => session.toast !== null);
    expect(session.toast?.text).toContain('another run was opened');
    await until(() => session.client !== null && session.list.view.rows.length > 0);
    expect(fake.requests.filter(({ command }) => command === 'pin')).toEqual([]);
    expect(fake.verbs).toEqual([]);
  });

  it('does a sample again, and says how many came out the same', async () => {
    fake.verbAnswer = [
      { score: [{ of: 'all', episodes: 4, score: 0.75, verdicts: { identical: 3, drift: 1, broken: 0 } }] },
    ];
    press('B', 'j', 'j', 'j', 'enter', 'ctrl-u');
    type('x');
    press('enter');
    expect(screen().at(-2)).toContain('is no number of episodes');
    press('ctrl-u', '4', 'enter');
    await until(() => session.toast?.text.includes('came out') === true);
    expect(session.toast?.text).toBe('3 of 4 came out the same (75.0%): 3 identical, 1 drift');
    expect(fake.verbs).toEqual([['replay', '', '--run', 'demo-1', '--sample', '4']]);
  });

  it('exports to a file', async () => {
    press('V', 'B', 'j', 'j', 'j', 'j', 'enter', 'ctrl-u', 'enter');
    expect(screen().at(-2)).toContain('a file name is wanted');
    type('one.jsonl');
    press('enter');
    await until(() => fake.verbs.length > 0);
    expect(fake.verbs[0]).toEqual(['export', 'episodes', 'demo-1', 'id:e30', '--to', 'one.jsonl']);
    press('B', 'G', 'enter');
    expect(session.selection.size).toBe(0);
  });
});

it('the panel is shown and hidden', async () => {
  session.resize({ columns: 160, rows: 40 });
  await until(() => screen().join('\n').includes('outcome') && session.facets.view.facets !== null);
  const wide = screen()[6]?.length ?? 0;
  press('p');
  expect(session.showsFacets).toBe(false);
  expect(screen()[6]).not.toHaveLength(wide);
});
