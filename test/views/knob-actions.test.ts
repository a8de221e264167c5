import { afterEach, beforeEach, expect, it } from 'vitest';
import { Session } from '../../views/session.ts';
import { driverOf, until } from './driver.ts';
import { FakeRun } from './fake-run.ts';

let fake: FakeRun;
let session: Session;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 4, episodes: 30 });
  session = new Session(fake.sessionOptions);
  session.open('demo-1');
  session.resize({ columns: 120, rows: 40 });
  await session.run?.poll();
  await until(() => (session.run?.snapshot().status ?? null) !== null);
});

afterEach(async () => {
  session.close();
  await fake.remove();
});

const { press, type, screen } = driverOf(() => session);

/** What was asked of the run, but for who asked. */
function asked(): unknown[] {
  return fake.requests.map((request) => ({ ...request, id: undefined, who: undefined }));
}

it('asks for a value with the range, refuses what is out of it, and sets the selected knob', async () => {
  press('s');
  expect(screen().at(-2)).toBe('learning rate, 0 to 0.1, now 0.001 (others: clip=0.1): _');
  type('7');
  press('enter');
  expect(screen().at(-2)).toMatch(
    /^lr=7 is out of range: learning rate takes a number from 0 to 0\.1; .*: 7_$/u,
  );
  press('backspace');
  expect(screen().at(-2)).toContain('now 0.001');
  press('enter');
  expect(session.prompt?.problem).toBe('a value is wanted, as 0.001');
  type('0.0003');
  press('enter');
  expect(session.prompt).toBeNull();
  await until(() => fake.knobs.lr === 0.0003);
  expect(asked()).toEqual([{ command: 'set', knobs: { lr: 0.0003 } }]);
  press('u');
  await until(() => fake.knobs.lr === 0.001);
});

it('shows what a typed clip would do before it is set, and Esc leaves it', async () => {
  press('s');
  type('clip=0.1');
  press('enter');
  expect(session.front).toBe('knob');
  expect(screen().join('\n')).toContain('clip 0.2 → 0.1?');
  press('enter');
  await until(() => fake.knobs.clip === 0.1);
  await session.run?.poll();
  press('s');
  type('clip 0.3');
  press('enter', 'escape');
  expect(session.front).toBe('overview');
  expect(fake.knobs.clip).toBe(0.1);
  press('s');
  type('clip 0.1');
  press('enter');
  expect(session.toast?.text).toBe('clip is 0.1 already');
  expect(session.front).toBe('overview');
});

it('takes several at once, and names what is no knob or no number', async () => {
  press('s');
  type('clp=0.1');
  press('enter');
  expect(session.prompt?.problem).toBe('"clp" is not a knob; did you mean clip?');
  press('ctrl-u');
  type('epochs=2.5');
  press('enter');
  expect(session.prompt?.problem).toContain('epochs takes a whole number from 1 to 50');
  press('ctrl-u');
  type('epochs 2 value=0.4 kl_limit 0.1');
  press('enter');
  await until(() => fake.knobs.epochs === 2 && fake.knobs.value === 0.4);
  expect(session.front).toBe('knob');
  press('enter');
  await until(() => fake.knobs.kl_limit === 0.1);
});

it('gives a knob back to its schedule', async () => {
  press('s');
  type('schedule');
  press('enter');
  await until(() => fake.requests.length > 0);
  expect(asked()).toEqual([{ command: 'schedule', knobs: ['lr'] }]);
});

it('sets a knob from the palette, on whichever screen, and shows it on the bench', () => {
  press('6', ':');
  type('set clip 0.1');
  expect(screen()[2]).toMatch(/^› set knob +s +type a value/u);
  press('enter');
  expect(session.screen).toBe('overview');
  expect(screen().join('\n')).toContain('clip 0.2 → 0.1?');
  press('escape', ':');
  type('set clip 9');
  press('enter');
  expect(session.prompt).toMatchObject({ text: 'clip 9', cursor: 6 });
  expect(session.prompt?.problem).toContain('out of range');
});

it('says that the run does not answer', async () => {
  await fake.die();
  await until(() => session.client === null);
  press('s');
  expect(session.prompt).toBeNull();
  expect(session.toast?.text).toContain('s does nothing now');
});
