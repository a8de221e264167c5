import { execFileSync } from 'node:child_process';
import { basename } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLI } from '../support/cli.ts';
import { kill, Lab, TINY, until } from '../support/lab-run.ts';
import { sshdMissing, startSshd, type TestSshd } from '../support/sshd.ts';

const missing = sshdMissing();

describe.skipIf(missing !== null)(`a run over ssh${missing === null ? '' : ` (${missing})`}`, () => {
  let lab: Lab;
  let sshd: TestSshd;
  beforeEach(async () => {
    lab = new Lab();
    sshd = await startSshd();
  });
  afterEach(async () => {
    await sshd.close();
    lab.remove();
  });

  /** What a remote worker is called in the process table: nothing of our environment reaches it. */
  function title(): string {
    return `far-${basename(lab.directory)}`;
  }

  function remoteWorkers(): number[] {
    const table = execFileSync('ps', ['-eo', 'pid=,stat=,args='], { encoding: 'utf8' });
    return table.split('\n').flatMap((line) => {
      const [, pid, stat, args] = /^\s*(\d+)\s+(\S+)\s+(.*)$/u.exec(line) ?? [];
      return args?.trim() === title() && !stat!.startsWith('Z') ? [Number(pid)] : [];
    });
  }

  function config(): object {
    const far = {
      name: 'far',
      ssh: sshd.target,
      sshOptions: sshd.options,
      workers: 1,
      command: `${process.execPath} --title=${title()} ${CLI}`,
    };
    return { ...TINY, hosts: [{ name: 'local', workers: 1 }, far] };
  }

  it('samples on both; a link that breaks costs only unfinished episodes, and nothing stays behind', async () => {
    const run = await lab.run(config());
    await run.untilIteration(1);
    await until('episodes of both', () => new Set(run.episodes().map(({ host }) => host)).size === 2 || null);
    const [before] = remoteWorkers();
    expect(before).toBeGreaterThan(0);
    const { children } = (await run.tryStatus())!;
    kill(children.find(({ host }) => host === 'far')!.pid!);
    const event = await run.untilEvent('worker-died', ({ subject }) => subject === 'worker 1@far');
    expect(event.message).toMatch(/\d+ episodes will be dispatched again/u);
    await until('the old worker is gone', () => !remoteWorkers().includes(before!) || null, 5000);
    const back = await run.until('it is back', (status) =>
      status.children.every(({ state }) => state === 'ready'),
    );
    await run.untilIteration(back.iteration + 1);
    await run.stop();
    const { total, distinct, byOutcome } = run.account();
    expect([distinct, byOutcome]).toEqual([total, total]);
    await until('nothing is left there', () => remoteWorkers().length === 0 || null, 5000);
  });

  it('killed -9 itself, leaves nothing on the other side', async () => {
    const run = await lab.run(config());
    await until('episodes from there', () => run.episodes().some(({ host }) => host === 'far') || null);
    expect(remoteWorkers()).toHaveLength(1);
    kill(lab.pid('run'));
    await lab.untilEmpty(3000);
    await until('nothing is left there', () => remoteWorkers().length === 0 || null, 5000);
  });
});
