import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SlotUse } from '../../src/domain/pipeline.ts';
import { lineWidth } from '../../views/line.ts';
import { drawScreen } from '../../views/screen.ts';
import { Session } from '../../views/session.ts';
import { driverOf, until } from './driver.ts';
import { childOf, eventOf, FakeRun, START, statusOf } from './fake-run.ts';
import { BRAILLE, PLAIN } from './looks.ts';

const SLOTS = 7000;
/** The one that leaks. */
const LEAKY = 4711;

function slotOf(slot: number): SlotUse {
  const use = {
    cpu: 0.001,
    tempBytes: slot === LEAKY ? 9_000_000 : 4096,
    openFiles: slot === LEAKY ? 40 : 1,
  };
  return { slot, stage: 'ready', waitMs: null, episode: `e${slot + 1}`, ageMs: 900, steps: 3, ...use };
}

let fake: FakeRun;
let session: Session;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 4, episodes: 3 });
  const gpu = { name: 'Tensor 9', utilisation: 0.45, usedMiB: 12_288, totalMiB: 81_920 };
  const figures = { cores: 64, load: 12.5, usedMiB: 20_000, totalMiB: 260_000, gpus: [gpu] };
  fake.status = statusOf({
    children: [
      childOf({ index: 0, resources: { cpu: 0.5, openFiles: 41, tempBytes: 4096 } }),
      childOf({ index: 1, busySlots: 31, resources: { cpu: 0.9, openFiles: 90, tempBytes: 9_000_000 } }),
      childOf({ index: 2, host: 'big', drain: { end: 'rest', left: 12 } }),
      childOf({ role: 'trainer', slots: 0, busySlots: 0, resources: null }),
    ],
    hosts: [
      { name: 'local', ssh: null, figures: null },
      { name: 'big', ssh: 'me@big.example.org', figures },
    ],
    own: [{ role: 'run', pid: 77, cpu: 0.1, rssMiB: 120, openFiles: 30 }],
  });
  fake.slots = [
    {
      worker: 'worker 1@local',
      slots: Array.from({ length: SLOTS }, (_, slot) => slotOf(slot)),
      stuck: null,
    },
  ];
  session = new Session(fake.sessionOptions);
  session.open('demo-1');
  session.resize({ columns: 120, rows: 40 });
  await until(() => session.client !== null && session.run?.snapshot().status !== null);
});

afterEach(async () => {
  session.close();
  await fake.remove();
});

const { press, screen } = driverOf(() => session);

/** The rows of the tree, blanks as one. */
function tree(): string[] {
  const rows = screen();
  const from = rows.findIndex((line) => line.startsWith('  process')) + 1;
  const to = rows.findIndex((line) => line.startsWith('──'));
  return rows
    .slice(from, to)
    .filter((line) => line !== '')
    .map((line) => line.replaceAll(/ {2,}/gu, ' '));
}

const keyOf = (): string => session.hosts.selected?.key ?? '';

describe('the tree of hosts', () => {
  it('has hosts, their processes with what each uses, and graphics processors where there are some', () => {
    press('6');
    expect(tree()).toEqual([
      '› ▾ local 2 workers',
      ' ▸ worker 0 ready 6,990/7,000 0.50 900 MiB 41 4.00 KiB 20 ms 0',
      ' ▸ worker 1 ready 31/7,000 0.90 900 MiB 90 8.58 MiB 20 ms 0',
      ' trainer ready -- 900 MiB -- -- 20 ms 0',
      ' run 0.10 120 MiB 30',
      ' ▾ big me@big.example.org 1 worker load 12.50 of 64 cores memory 19.5 GiB of 254 GiB',
      ' GPU 0 Tensor 9 45.0% memory 12.0 GiB of 80.0 GiB',
      ' ▸ worker 2 draining 12 6,990/7,000 0.97 900 MiB 41 2.00 MiB 20 ms 0',
    ]);
    expect(screen()[3]).toContain('workers 3   1 drained or draining   by name');
  });

  it('folds and unfolds, goes to what a row belongs to, and asks for the slots of unfolded workers only', async () => {
    press('6', 'left');
    expect(tree()[1]).toContain('big');
    press('enter', 'j', 'j');
    expect(keyOf()).toBe('host local/worker 1');
    expect(fake.requests.filter(({ command }) => command === 'slots')).toEqual([]);
    press('right');
    expect(tree()[3]).toBe(' asking for its slots');
    await until(() => session.hosts.rows.length > SLOTS);
    expect(fake.requests.find(({ command }) => command === 'slots')).toMatchObject({ workers: [1] });
    press('j', 'j', 'left');
    expect(keyOf()).toBe('host local/worker 1');
    press('left', 'left');
    expect(keyOf()).toBe('host local');
    expect(session.hosts.rows).toHaveLength(8);
  });

  it('brings the slot that leaks to the top of 7,000, and keeps the pointer on its row', async () => {
    press('6', 'j', 'j', 'right');
    await until(() => session.hosts.rows.length > SLOTS);
    press('s', 's', 's');
    expect(session.hosts.order).toBe('temp');
    expect(keyOf()).toBe('host local/worker 1');
    expect(tree().slice(1, 3)).toEqual([
      expect.stringContaining('▾ worker 1'),
      expect.stringContaining(`slot ${LEAKY} ready e${LEAKY + 1} 0.001`),
    ]);
    press('G');
    expect(tree().at(-1)).toContain('worker 2');
    press('g');
    expect(tree()[0]).toContain('local');
  });

  it('marks a slot that was found out of line, and says how', async () => {
    const message = '8.6 MiB in its temporary directory; the median of its worker’s slots: 0.0 MiB';
    fake.store.appendEvent(
      eventOf({
        time: START + 9000,
        level: 'warning',
        kind: 'slot-drift',
        subject: `worker 1@local, slot ${LEAKY}`,
        message,
      }),
    );
    await session.run?.poll();
    press('6', 'j', 'j');
    expect(tree()[2]).toContain('worker 1 !');
    expect(screen().join('\n')).toContain(message);
    press('8', 'enter');
    expect(session.screen).toBe('hosts');
    await until(() => keyOf() === `host local/worker 1/${LEAKY}`);
    expect(screen().join('\n')).toContain(`slot ${LEAKY} !`);
  });

  it.each([
    [40, 10],
    [80, 24],
    [200, 50],
  ])('fits a screen of %d x %d', (columns, rows) => {
    press('6', 'right');
    session.resize({ columns, rows });
    for (const look of [BRAILLE, PLAIN]) {
      const lines = drawScreen(session, look);
      expect(lines).toHaveLength(rows);
      expect(lines.every((line) => lineWidth(line) <= columns)).toBe(true);
    }
  });
});

function commands(): unknown[] {
  return fake.requests.filter(({ command }) => command === 'workers' || command === 'add_worker');
}

describe('what can be done with workers', () => {
  it.each([
    ['d', 'Drain worker 0@local?', { action: 'drain', targets: ['worker 0@local'], now: false }],
    ['t', 'Start worker 0@local anew?', { action: 'restart', targets: ['worker 0@local'], now: false }],
    [
      'T',
      'Start worker 0@local anew at once?',
      { action: 'restart', targets: ['worker 0@local'], now: true },
    ],
    [
      'X',
      'Remove worker 0@local from the run?',
      { action: 'remove', targets: ['worker 0@local'], now: false },
    ],
    ['a', 'Add a worker to local?', { command: 'add_worker', host: 'local', slots: null }],
  ])('%s asks first, and does it on yes alone', async (key, title, request) => {
    press('6', 'j', key);
    expect(screen().join('\n')).toContain(title);
    press('enter');
    expect(session.question).toBeNull();
    press(key, 'n');
    expect(session.question).toBeNull();
    press(key, 'tab', 'enter');
    await until(() => commands().length > 0);
    press(key, 'y');
    await until(() => commands().length > 1);
    expect(commands()).toEqual([expect.objectContaining(request), expect.objectContaining(request)]);
  });

  it('a host stands for all of its workers; u needs no question', async () => {
    press('6', 'd');
    expect(screen().join('\n')).toContain('Drain all 2 workers of local?');
    expect(screen().join('\n')).toContain('7,021 episodes in flight are finished');
    press('escape', 'u');
    await until(() => commands().length > 0);
    expect(commands()).toEqual([expect.objectContaining({ action: 'undrain', targets: ['local'] })]);
  });

  it('a row without a worker says so', () => {
    press('6', 'j', 'j', 'j', 'd');
    expect(session.question).toBeNull();
    expect(session.toast?.text).toContain('there is no worker here');
  });

  it('Q quiesces the run', async () => {
    press('6', 'Q');
    await until(() => fake.requests.some(({ command }) => command === 'pause'));
    expect(fake.requests.at(-1)).toMatchObject({ command: 'pause', now: false, quiesce: true });
  });
});
