import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pressKey } from '../../views/actions.ts';
import { Session } from '../../views/session.ts';
import { driverOf } from './driver.ts';
import { changeOf, eventOf, FakeRun, START } from './fake-run.ts';
import { BRAILLE } from './looks.ts';

let fake: FakeRun;
let session: Session;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 4, episodes: 30 });
  fake.store.appendEvent(
    eventOf({ time: START + 1000, kind: 'checkpoint', subject: 'run', message: 'iteration 4 written' }),
  );
  fake.store.appendEvent(
    eventOf({
      time: START + 2000,
      level: 'warning',
      kind: 'worker-died',
      subject: 'worker 1@local',
      message: 'was ended by SIGKILL',
    }),
  );
  fake.store.appendEvent(
    eventOf({
      time: START + 4000,
      kind: 'kl-stop',
      subject: 'trainer',
      message: 'update 4 stopped',
      episodes: ['e7', 'e3'],
    }),
  );
  fake.store.appendKnobChange(
    changeOf({ time: START + 3000, who: 'ann@desk', knob: 'clip', from: 0.2, to: 0.1 }),
  );
  session = new Session(fake.sessionOptions);
  session.open('demo-1');
  session.resize({ columns: 120, rows: 40 });
  await session.run?.poll();
  while (session.client === null || session.list.view.rows.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
});

afterEach(async () => {
  session.close();
  await fake.remove();
});

const { press, screen } = driverOf(() => session);

/** The rows of the event list, without the time. */
function events(): string[] {
  const rows = screen();
  const head = rows.findIndex((line) => line.startsWith('  time'));
  return rows
    .slice(head + 1)
    .filter((line) => /^[› ] \d\d:/u.test(line))
    .map((line) => line.replace(/^(.) [\d:]+ +/u, '$1 ').replaceAll(/ {2,}/gu, ' · '));
}

describe('the event screen', () => {
  it('lists events and turned knobs, newest first, the selected one in full', () => {
    press('8');
    expect(session.screen).toBe('events');
    expect(events().slice(0, 4)).toEqual([
      expect.stringMatching(/^› kl-stop · trainer · update 4 stopped$/u),
      expect.stringMatching(/^ · knob · ann@desk · clip 0\.2 → 0\.1 from iteration \d+, minibatch \d+$/u),
      expect.stringMatching(/warning · worker-died · worker 1@local · was ended by SIGKILL$/u),
      expect.stringMatching(/checkpoint · run · iteration 4 written$/u),
    ]);
    expect(screen().join('\n')).toContain('update 4 stopped  (e7, e3)');
  });

  it('keeps those that hold every word, and none that is excluded', () => {
    press('e', '/', ...Array.from('worker'), 'space', ...Array.from('-clip'), 'enter');
    expect(events()).toHaveLength(1);
    expect(screen().join('\n')).toContain('filter worker -clip');
    press('escape');
    expect(session.screen).toBe('events');
    expect(events().length).toBeGreaterThan(3);
    press('escape');
    expect(session.screen).toBe('overview');
  });

  it('says that nothing matches', () => {
    press('8', '/', ...Array.from('nonesuch'), 'enter');
    expect(screen().join('\n')).toContain('no event matches; Esc clears the filter');
    press('enter');
    expect(session.toast?.text).toContain('there is nothing to open yet');
  });

  it('keeps the pointer on its event when others come in, and shows new ones while it is on the newest', async () => {
    press('8', 'j', 'j');
    expect(session.events.selected?.kind).toBe('worker-died');
    fake.store.appendEvent(eventOf({ time: START + 5000, kind: 'pause', message: 'asked to pause' }));
    await session.run?.poll();
    expect(session.events.selected?.kind).toBe('worker-died');
    expect(events()[3]).toMatch(/^› /u);
    press('g');
    fake.store.appendEvent(eventOf({ time: START + 6000, kind: 'resume', message: 'resumed' }));
    await session.run?.poll();
    expect(session.events.selected?.kind).toBe('resume');
  });

  it('looks into one field where a term names it, and finds commands by who gave them', () => {
    fake.store.appendEvent(
      eventOf({ time: START + 7000, kind: 'drain', subject: 'worker 0@local', message: 'x', who: 'bob@lap' }),
    );
    press('8', '/', ...Array.from('who:bob'), 'enter');
    expect(events()).toEqual([expect.stringContaining('drain')]);
    press('/', 'ctrl-u', ...Array.from('kind:worker'), 'enter');
    expect(events()).toEqual([expect.stringContaining('worker-died')]);
    press('/', 'ctrl-u', ...Array.from('about:worker'), 'space', ...Array.from('-level:warning'), 'enter');
    expect(events()).toEqual([expect.stringContaining('drain')]);
    press('/', 'ctrl-u', ...Array.from('who:ann'), 'enter');
    expect(events()).toEqual([expect.stringContaining('knob')]);
  });

  it('puts the cursor of the charts on the iteration that an event names, or that was made then', () => {
    press('8');
    expect(screen().join('\n')).toContain('Enter goes to its episodes');
    press('j', 'j', 'j');
    expect(session.events.selected?.kind).toBe('checkpoint');
    expect(screen().join('\n')).toContain('Enter goes to the charts at iteration 4');
    press('enter');
    expect(session.screen).toBe('overview');
    expect(session.charts.cursor).toBe(4);
  });

  it('goes to what an event is about, and comes back', () => {
    press('8', 'enter');
    expect(session.screen).toBe('overview');
    expect(session.list.view.filterText).toBe('id:e7,e3');
    press('8', 'j', 'j', 'enter');
    expect(session.screen).toBe('hosts');
    press('escape');
    expect(session.screen).toBe('events');
    fake.store.appendEvent(eventOf({ time: START + 9000, kind: 'env-stuck', message: 'e12 did not end' }));
    session.resize({ columns: 121, rows: 40 });
    press('g', 'enter');
    expect(session.screen).toBe('replay');
    expect(session.replay?.episode.summary.id).toBe('e12');
    press('q');
    expect(session.screen).toBe('events');
  });
});

describe('number keys', () => {
  it('go to the screens, and Esc comes back through them', () => {
    press('7', '8', '2', '1');
    expect(session.screen).toBe('runs');
    press('7');
    expect(session.screen).toBe('pipeline');
    press('escape', 'r');
    expect(session.screen).not.toBe('pipeline');
  });

  it('do nothing without a run, and say why', () => {
    const empty = new Session(fake.sessionOptions);
    empty.showRuns();
    pressKey(empty, '7', BRAILLE);
    expect(empty.screen).toBe('runs');
    expect(empty.toast?.text).toBe('7 does nothing now: no run is open');
    empty.close();
  });
});

describe('the palette', () => {
  it('finds commands by parts of their names, and runs them', () => {
    press(':', ...Array.from('who'), 'space', ...Array.from('waits'));
    expect(session.front).toBe('palette');
    expect(screen()[2]).toMatch(/^› who waits +7 w +the pipeline/u);
    press('enter');
    expect(session.screen).toBe('pipeline');
    expect(session.palette).toBeNull();
  });

  it('moves among what is found, and leaves things as they are on Esc', () => {
    press(':', 'down', 'down', 'up');
    expect(screen()[3]).toMatch(/^› /u);
    press('escape');
    expect(session.front).toBe('overview');
    press(':', ...Array.from('zzz'));
    expect(screen()[2]).toContain('no command is called so');
    press('enter');
    expect(session.front).toBe('palette');
    press('ctrl-u', 'backspace');
    expect(screen()[2]).toMatch(/^› /u);
  });

  it('says why a command does nothing just now', () => {
    press(':', ...Array.from('undo'), 'enter');
    expect(session.toast?.text).toBe('undo knob does nothing now: no change of a knob is left to take back');
  });
});

it('4 shows the episode that was opened last, where it was left, and says so before there is one', () => {
  press('4');
  expect(session.toast?.text).toContain('no episode was opened yet');
  press('2', 'enter');
  const id = session.replay?.episode.summary.id;
  press('j', '8', '4');
  expect(session.screen).toBe('replay');
  expect(session.replay?.episode.summary.id).toBe(id);
  expect(session.replay?.position).toBe(1);
});
