import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { setPin } from '../../src/store/pins.ts';
import { Session } from '../../views/session.ts';
import { columnsFor } from '../../views/widgets/episode-table.ts';
import { pressOn as press, until } from './driver.ts';
import { FakeRun } from './fake-run.ts';

let fake: FakeRun;
let sessions: Session[] = [];

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 40, episodes: 60 });
});

afterEach(async () => {
  for (const session of sessions) session.close();
  sessions = [];
  await fake.remove();
});

const file = (): string => join(fake.paths.root, 'view.json');

async function opened(): Promise<Session> {
  const session = new Session(fake.sessionOptions);
  sessions.push(session);
  session.resize({ columns: 120, rows: 40 });
  session.open('demo-1');
  await until(
    () => session.list.view.rows.length > 0 && (session.run?.snapshot().iterations.length ?? 0) > 0,
  );
  return session;
}

it('opens a run as it was left', async () => {
  const first = await opened();
  press(first, 'c', 'a', 'L', 'z', '3', '/', ...Array.from('-is:void'), 'enter');
  await until(() => first.list.view.rows.length > 0);
  press(first, 'S', 'p', 'C', 'j', 'j', 'enter', 'escape');
  await until(() => first.list.view.rows.length > 0);
  press(first, 'j', 'j', 'j');
  const { selected } = first.list;
  press(first, 'enter');
  expect(first.screen).toBe('replay');
  const { charts, columns } = first;
  first.close();
  const second = await opened();
  expect(second.screen).toBe('episodes');
  expect(second.list.view.filterText).toBe('-is:void sort:id');
  expect(second.charts.state).toEqual(charts.state);
  expect(second.charts.window).not.toBeNull();
  expect(second.columns).toEqual(columns);
  expect(columns).not.toContain('outcome');
  expect(second.showsFacets).toBe(false);
  await until(() => second.list.selected?.id === selected?.id);
  expect(second.list.view.following).toBe(false);
});

it('comes back to each screen of a run', async () => {
  for (const [key, screen] of [
    ['3', 'episodes'],
    ['6', 'hosts'],
    ['7', 'pipeline'],
    ['8', 'events'],
    ['2', 'overview'],
  ] as const) {
    const first = await opened();
    press(first, key);
    expect(first.screen).toBe(screen);
    first.close();
    const second = await opened();
    expect(second.screen).toBe(screen);
    second.close();
  }
});

it('comes back to what is pinned, once that is known', async () => {
  setPin(fake.paths, { episode: 'e12', pinned: true, who: 'ann@here' });
  const first = await opened();
  await until(() => first.marks?.marks.pins.size === 1);
  press(first, '3', '/', ...Array.from('@pinned'), 'enter');
  await until(() => first.list.view.total === 1);
  first.close();
  const second = await opened();
  await until(() => second.list.view.filterText === '@pinned' && second.list.view.rows.length === 1);
  expect(second.list.selected?.id).toBe('e12');
});

it('is not written by a screen that changed nothing, and survives damage', async () => {
  const first = await opened();
  press(first, 'f');
  await until(() => first.list.view.rows.length > 0);
  first.close();
  const left = JSON.parse(readFileSync(file(), 'utf8'));
  expect(left.outcome).not.toBeNull();
  // Something that nobody who writes the file would keep.
  writeFileSync(file(), JSON.stringify({ ...left, mark: 1 }));
  const idle = await opened();
  expect(idle.list.view.failure).toBe(left.outcome);
  await idle.run?.poll();
  idle.close();
  // Nothing is to come; what was begun would be there by now.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(JSON.parse(readFileSync(file(), 'utf8'))).toHaveProperty('mark');
  const other = await opened();
  const busy = await opened();
  press(busy, '7');
  busy.close();
  expect(JSON.parse(readFileSync(file(), 'utf8'))).toMatchObject({ screen: 'pipeline' });
  other.close();
  expect(JSON.parse(readFileSync(file(), 'utf8'))).toMatchObject({ screen: 'pipeline' });
  for (const text of [
    '{',
    '[]',
    '{"screen":"nowhere","filter":"fail:","columns":[1],"charts":{"window":[1]}}',
  ]) {
    writeFileSync(file(), text);
    const session = await opened();
    expect(session.screen).toBe('overview');
    expect(session.list.view.filterText).toBe('');
    session.close();
  }
});

it('a list with columns that there are not has those of its width', async () => {
  writeFileSync(file(), '{"screen":"episodes","columns":["nothing"]}');
  const session = await opened();
  expect(columnsFor(120, session.columns)).toEqual(columnsFor(120, null));
  expect(columnsFor(120, [])).toEqual(columnsFor(120, null));
});

it('goes on where nothing can be written', async () => {
  const session = await opened();
  rmSync(file(), { force: true });
  mkdirSync(file());
  press(session, '8');
  session.close();
  expect((await opened()).screen).toBe('overview');
});
