import { existsSync, readdirSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kill, Lab, type LabRun, TINY, until } from '../support/lab-run.ts';

const WORKBENCH = new URL('../support/workbench-module.mjs', import.meta.url).href;

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

/**
 * The Workbench in which every slot has a temporary directory with a file in it; `fault` is code that runs before each step of
 * slot 7 of each worker, with `directory`, `fs`, `steps` and whatever it keeps in `kept`. A slot that is rebuilt has it again:
 * one that is found between two episodes is rebuilt without a failure, and only the next of its episodes has one.
 */
function leaky(fault: string): string {
  return `
import * as fs from 'node:fs';
import { environment as base } from ${JSON.stringify(WORKBENCH)};
export const environment = {
  ...base,
  create(options, resources) {
    const env = base.create(options);
    const step = env.step.bind(env);
    const kept = [];
    let steps = 0;
    env.step = (action) => {
      const directory = resources.tempDirectory();
      if (steps++ === 0) fs.writeFileSync(directory + '/own', 'x');
      if (directory.includes('/slot-7-')) { ${fault} }
      return step(action);
    };
    return env;
  },
};`;
}

async function runLeaky(fault: string, supervision: object = {}): Promise<LabRun> {
  lab.write('leaky.mjs', leaky(fault));
  return await lab.run({ ...TINY, supervision, env: { name: './leaky.mjs' } });
}

function directoriesOf(pid: number): string {
  return join(tmpdir(), `agentrl-lab-slots-${hostname()}-${pid}`);
}

describe('a slot that uses far more than its peers', () => {
  it.each([
    [
      'bytes',
      "fs.appendFileSync(directory + '/log', Buffer.alloc(1 << 20));",
      /MiB in its temporary directory/u,
    ],
    [
      'open files',
      "if (kept.length < 60) kept.push(fs.openSync(directory + '/own', 'r'));",
      /\d\d open files in its temporary directory/u,
    ],
    [
      'CPU time',
      'for (const end = performance.now() + 20; performance.now() < end; );',
      /s of CPU time in 5 s; the median/u,
    ],
  ])('is named: %s', async (_what, fault, message) => {
    const run = await runLeaky(fault);
    const event = await run.untilEvent('slot-drift');
    expect(event.subject).toMatch(/^worker [01]@local, slot 7$/u);
    expect(event.message).toMatch(message);
    expect(
      new Set(run.events().flatMap(({ kind, subject }) => (kind === 'slot-drift' ? [subject] : []))).size,
    ).toBeLessThanOrEqual(2);
  });
});

it('a slot over its limit: its episode is sandbox_error, the slot is rebuilt with an empty directory', async () => {
  const run = await runLeaky("fs.appendFileSync(directory + '/log', Buffer.alloc(1 << 20));", {
    slotTempMiB: 24,
  });
  const [failed] = await until('a sandbox_error', () => {
    const found = run.episodes('fail:sandbox_error');
    return found.length > 0 ? found : null;
  });
  expect(failed).toMatchObject({ slot: 7, trust: 'void' });
  expect(failed!.failureDetail).toMatch(/^its temporary directory holds \d+ MiB, the limit is 24$/u);
  const { iteration } = await run.until('a status', () => true);
  const after = await run.untilIteration(iteration + 2);
  expect(after.children.every(({ restarts }) => restarts === 0)).toBe(true);
});

it('leaves no directory behind: not of a killed worker, not of a stopped run, not when all is killed', async () => {
  const run = await runLeaky('');
  await run.untilIteration(1);
  const [killed] = lab.pids('worker');
  expect(readdirSync(directoriesOf(killed!)).length).toBeGreaterThan(4);
  kill(killed!);
  await run.untilEvent('worker-died');
  await until('its directory to go with the next start', () => !existsSync(directoriesOf(killed!)) || null);
  const stopped = lab.pids('worker');
  await run.stop();
  expect(stopped.map((pid) => existsSync(directoriesOf(pid)))).toEqual(stopped.map(() => false));

  const second = await runLeaky('');
  await second.untilIteration(1);
  const orphans = lab.pids('worker');
  kill(lab.pid('run'));
  await lab.untilEmpty(15_000);
  expect(orphans.map((pid) => existsSync(directoriesOf(pid)))).toEqual(orphans.map(() => false));
});
