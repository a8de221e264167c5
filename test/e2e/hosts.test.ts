import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CLI } from '../support/cli.ts';
import { sshdMissing, startSshd, type TestSshd } from '../support/sshd.ts';
import { Lab } from './lab.ts';

const SIZE = { columns: 120, rows: 40 };

const lab = new Lab();

beforeAll(async () => await lab.startRun());
afterAll(async () => await lab.remove());
afterEach(async () => await lab.closeTerminals());

it('hosts: unfolds a worker down to its slots, adds one that samples, and drains the first', async () => {
  const terminal = lab.open([], SIZE);
  await terminal.shows(/iteration [1-9]/u);
  terminal.press('hosts');
  await terminal.shows(/▾ local +1 worker +load [\d.]+ of \d+ cores +memory/u);
  await terminal.shows(/ run +[\d.]+ +[\d.]+ MiB/u);
  terminal.press('down');
  terminal.press('unfold');
  await terminal.shows(/slot 0 +\S+.*\n +slot 1 /u);
  terminal.press('fold');

  terminal.press('addWorker');
  await terminal.shows('Add a worker to local?');
  terminal.press('focus');
  terminal.press('accept');
  await terminal.shows(/▸ worker 1 +ready/u);
  terminal.press('drain');
  await terminal.shows('Drain worker 0@local?');
  terminal.press('focus');
  terminal.press('accept');
  await terminal.shows(/▸ worker 0 +drained +0\/32/u);
  const { iteration, children } = await lab.status();
  expect(children.map(({ drain }) => drain)).toEqual([{ end: 'rest', left: 0 }, null, null]);
  await terminal.until('it goes on by the other', (screen) => {
    return Number(/iteration (\d+)/u.exec(screen)?.[1]) > iteration + 2;
  });
});

it('events: name who drained, and lead to the worker', async () => {
  const terminal = lab.open([], SIZE);
  await terminal.shows(/iteration [1-9]/u);
  terminal.press('events');
  terminal.press('filter');
  terminal.type('kind:drain -kind:drained');
  terminal.press('accept');
  await terminal.shows(/drain +worker 0@local +gets no new episodes \(\d+ in flight\), by \S+@\S+/u);
  await terminal.shows('Enter goes to worker 0 among the hosts');
  terminal.press('open');
  await terminal.shows(/› +▸ worker 0 +drained/u);
  await lab.cli('workers', 'undrain', '0');
  await terminal.shows(/› +▸ worker 0 +ready/u);
  expect(await lab.cli('sql', "SELECT who FROM events WHERE kind = 'undrain'", '--csv')).toMatch(
    /^who\n\S+@\S+$/u,
  );
});

it('the pipeline has the ages of the samples, the bench the reward by component; Q quiesces', async () => {
  const terminal = lab.open([], SIZE);
  await terminal.shows(/iteration [1-9]/u);
  terminal.press('pipeline');
  await terminal.shows(/sample age +\d+ +[\d.]+% ─/u);
  terminal.press('bench');
  terminal.press('chartPage');
  terminal.press('chartPage');
  await terminal.shows(/paid ─ \S+ -?[\d.e-]+/u);
  terminal.press('quiesce');
  await terminal.shows(/ QUIESCED +nothing in flight, checkpoint it-\d+/u);
  // What workers say of themselves is half a second old.
  while ((await lab.status()).children.some(({ busySlots }) => busySlots > 0)) await sleep(50);
  terminal.press('pause');
  await terminal.shows(' RUNNING ');
  expect((await lab.status()).state).toBe('running');
});

const missing = sshdMissing();

describe.skipIf(missing !== null)(`a host reached by ssh${missing === null ? '' : ` (${missing})`}`, () => {
  const remote = new Lab();
  let sshd: TestSshd;

  beforeAll(async () => {
    sshd = await startSshd();
    const far = {
      name: 'far',
      ssh: sshd.target,
      sshOptions: sshd.options,
      workers: 1,
      command: `'${process.execPath}' '${CLI}'`,
    };
    const hosts = JSON.stringify([{ name: 'local', roles: ['trainer'] }, far]);
    await remote.cli('run', remote.writeConfig(), '--set', `hosts=${hosts}`, '--detach');
  });
  afterAll(async () => {
    await remote.closeTerminals();
    await remote.remove();
    await sshd.close();
  });

  it('has its workers added, drained, started anew and removed on the screen', async () => {
    const terminal = remote.open([], SIZE);
    await terminal.shows(/iteration [1-9]/u);
    terminal.press('hosts');
    await terminal.shows(/▾ far \S+ +1 worker +load [\d.]+ of \d+ cores +memory/u);
    terminal.key('end');
    await terminal.shows(/› +▸ worker 0 +ready +\d+\/32 +[\d.]+ +[\d.]+ MiB/u);
    terminal.press('addWorker');
    await terminal.shows('Add a worker to far?');
    terminal.press('agree');
    await terminal.shows(/▸ worker 1 +ready/u);

    terminal.press('restartNow');
    await terminal.shows(/worker 0@far/u);
    terminal.press('agree');
    await terminal.shows(/› +▸ worker 0 +ready .* 1\n/u);
    terminal.press('drain');
    await terminal.shows('Drain worker 0@far?');
    terminal.press('agree');
    await terminal.shows(/› +▸ worker 0 +drained +0\/32/u);
    terminal.press('undrain');
    await terminal.shows(/› +▸ worker 0 +ready/u);
    terminal.press('removeWorker');
    await terminal.shows(/worker 0@far/u);
    terminal.press('agree');
    await terminal.until('it has left', (screen) => !/worker 0 /u.test(screen));
    const { children } = await remote.status();
    expect(children.map(({ host, role }) => `${role}@${host}`)).toEqual(
      expect.arrayContaining(['worker@far', 'trainer@local']),
    );
  });
});
