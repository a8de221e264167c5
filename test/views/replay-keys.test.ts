import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pressKey } from '../../views/actions.ts';
import { drawScreen } from '../../views/screen.ts';
import { Session } from '../../views/session.ts';
import { FakeRun } from './fake-run.ts';
import { BRAILLE, textOf } from './looks.ts';

let fake: FakeRun;
let session: Session;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 1, episodes: 3 });
  session = new Session(fake.sessionOptions);
  session.open('demo-1');
  session.resize({ columns: 120, rows: 30 });
  while (session.client === null || session.list.view.rows.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  press('enter');
});

afterEach(async () => {
  session.close();
  await fake.remove();
});

function press(...keys: string[]): void {
  for (const key of keys) pressKey(session, key, BRAILLE);
}

function screen(): string[] {
  return textOf(drawScreen(session, BRAILLE)).map((line) => line.trimEnd());
}

const place = (): number | undefined => session.replay?.position;

describe('search in a replay', () => {
  it('finds what was seen where it came up, and what was done, without regard to case', () => {
    press('/', ...Array.from('EVIL'));
    expect(screen().at(-2)).toBe('/ EVIL_');
    press('enter');
    expect(place()).toBe(1);
    press('/', 'ctrl-u', ...Array.from('input'), 'enter');
    expect(place()).toBe(0);
    press('/', 'ctrl-u', ...Array.from('done'), 'enter');
    expect(place()).toBe(2);
  });

  it('goes from match to match round the end', () => {
    // The first line of the episode, and its action.
    press('/', ...Array.from('notes.txt'), 'enter');
    expect(place()).toBe(0);
    press(']');
    expect(session.toast?.text).toBe('no other step has "notes.txt"');
    press('/', 'ctrl-u', 'e', 'enter', ']', ']', ']');
    expect(place()).toBe(0);
    press('[');
    expect(place()).toBe(2);
  });

  it('says that nothing is found, or searched, and leaves on Esc', () => {
    press(']');
    expect(session.toast?.text).toBe('nothing is searched: / searches');
    press('/', ...Array.from('nonesuch'), 'enter');
    expect(session.toast?.text).toBe('no step has "nonesuch"');
    press('/', 'escape');
    expect(session.replay?.search).toBe('');
    expect(session.front).toBe('replay');
  });
});

it('goes to steps that were paid or had no effect', () => {
  press('>');
  expect(place()).toBe(1);
  press('>');
  expect(session.toast?.text).toBe('no later step was paid or had no effect');
  press('<');
  expect(place()).toBe(0);
  press('<');
  expect(session.toast?.text).toBe('no earlier step was paid or had no effect');
});
