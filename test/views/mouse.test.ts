import { afterEach, beforeEach, expect, it } from 'vitest';
import { Mouse } from '../../views/mouse.ts';
import { drawScreen } from '../../views/screen.ts';
import { Session } from '../../views/session.ts';
import { FakeRun } from './fake-run.ts';
import { BRAILLE, textOf } from './looks.ts';

let fake: FakeRun;
let session: Session;
let mouse: Mouse;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 4, episodes: 60 });
  session = new Session(fake.sessionOptions);
  session.open('demo-1');
  session.resize({ columns: 120, rows: 40 });
  await session.run?.poll();
  while (session.list.view.rows.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  mouse = new Mouse(session);
});

afterEach(async () => {
  session.close();
  await fake.remove();
});

function rowWith(text: string): number {
  return textOf(drawScreen(session, BRAILLE)).findIndex((line) => line.includes(text));
}

function click(row: number, now: number): void {
  mouse.take({ kind: 'click', row }, BRAILLE, now);
}

it('points at the row that is clicked, and opens it with the second click', () => {
  click(rowWith('e57 '), 1000);
  expect(textOf(drawScreen(session, BRAILLE))[rowWith('e57 ')]).toMatch(/^› e57 /u);
  expect(session.screen).toBe('overview');
  click(rowWith('e57 '), 1200);
  expect(session.screen).toBe('replay');
  expect(session.replay?.episode.summary.id).toBe('e57');
});

it('two clicks that are far apart, in time or in place, open nothing', () => {
  click(rowWith('e57 '), 1000);
  click(rowWith('e57 '), 2000);
  click(rowWith('e55 '), 2100);
  expect(session.screen).toBe('overview');
  expect(textOf(drawScreen(session, BRAILLE))[rowWith('e55 ')]).toMatch(/^› e55 /u);
});

it('the wheel moves by rows, and nothing moves under a question', () => {
  mouse.take({ kind: 'wheel', by: 1 }, BRAILLE, 0);
  expect(session.list.view.selected).toBe(3);
  mouse.take({ kind: 'wheel', by: -1 }, BRAILLE, 0);
  expect(session.list.view.selected).toBe(0);
  session.question = {
    title: 'stop',
    body: ['?'],
    verb: 'stop',
    focus: 'cancel',
    onYes: () => undefined,
  };
  mouse.take({ kind: 'wheel', by: 1 }, BRAILLE, 0);
  click(3, 0);
  expect(session.list.view.selected).toBe(0);
});

it('neither moves what lies under a line that is asked for, nor accepts the line', () => {
  const accepted: string[] = [];
  session.ask({ label: 'note', text: 'seen', onAccept: (text) => accepted.push(text) });
  mouse.take({ kind: 'wheel', by: 1 }, BRAILLE, 0);
  click(rowWith('e57 '), 1000);
  click(rowWith('e57 '), 1100);
  click(rowWith('e57 '), 1200);
  expect(session.list.view.selected).toBe(0);
  expect(session.prompt?.text).toBe('seen');
  expect(accepted).toEqual([]);
});
