import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunStatus } from '../../src/domain/run.ts';
import { kill, Lab, type LabRun, TINY, until } from '../support/lab-run.ts';

const WORKBENCH = new URL('../support/workbench-module.mjs', import.meta.url).href;
/** A heartbeat that kills nothing meanwhile. */
const PATIENT = { supervision: { heartbeatMs: 60_000 } };
const LIMIT_MS = 20_000;

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

/** The first status with a stall like this. */
async function untilStall(run: LabRun, like: RegExp): Promise<RunStatus['stall']> {
  const { stall } = await run.until(
    `stall ${like.source}`,
    (status) => status.stall !== null && like.test(status.stall.message),
    LIMIT_MS,
  );
  return stall;
}

async function untilOver(run: LabRun): Promise<void> {
  await run.until('the end of the stall', ({ stall }) => stall === null, LIMIT_MS);
  const over = await run.untilEvent('stall-over');
  expect(over.message).toMatch(/^it lasted \d+ /u);
}

describe('a stall is named within seconds, and its end is told', () => {
  it('one worker stopped, then all of them', async () => {
    const run = await lab.run({ ...TINY, ...PATIENT });
    await run.untilIteration(1);
    const [first, second] = lab.pids('worker');
    kill(first!, 'SIGSTOP');
    expect(
      await untilStall(run, /^1 of 2 workers gives nothing: worker [01]@local silent, \d+ s$/u),
    ).not.toBeNull();
    kill(second!, 'SIGSTOP');
    // Whatever the run waits for: samples, or episodes of its evaluation.
    const all = await untilStall(run, /: 2 workers silent, \d+ s$/u);
    expect(all?.stage).toBe('step');
    for (const pid of [first!, second!]) kill(pid, 'SIGCONT');
    await untilOver(run);
    const { iteration } = await run.until('a status', () => true);
    await run.untilIteration(iteration + 2);
    expect(run.events().filter(({ kind }) => kind === 'worker-died')).toEqual([]);
  });

  it('the trainer stopped in the middle of an update', async () => {
    const run = await lab.run({ ...TINY, ...PATIENT });
    await run.untilIteration(1);
    kill(lab.pid('trainer'), 'SIGSTOP');
    const stall = await untilStall(run, /^update \d+ waits for the trainer: trainer@local silent, \d+ s$/u);
    expect(stall?.stage).toBe('update');
    kill(lab.pid('trainer'), 'SIGCONT');
    await untilOver(run);
  });

  it('an environment that blocks its worker, below its limit: the slot is named', async () => {
    const block = `
      import { environment as base } from ${JSON.stringify(WORKBENCH)};
      export const environment = {
        ...base,
        create(options) {
          const env = base.create(options);
          const step = env.step.bind(env);
          let steps = 0;
          env.step = (action) => {
            if (++steps === 200) for (const end = Date.now() + 7000; Date.now() < end; );
            return step(action);
          };
          return env;
        },
      };`;
    lab.write('block.mjs', block);
    const sampling = { ...TINY.sampling, slots: 8, stepTimeoutMs: 30_000 };
    const run = await lab.run({ ...TINY, sampling, env: { name: './block.mjs' } });
    const stall = await untilStall(run, /stuck in step, slot [0-3], \d+ s$/u);
    expect(stall?.stage).toBe('step');
    const status = await run.until(
      'the age of the step',
      ({ stages }) => stages.some(({ stage, ageMs }) => stage === 'step' && ageMs > 3000),
      LIMIT_MS,
    );
    expect(status.stages.find(({ stage }) => stage === 'step')?.subject).toMatch(
      /^worker [01]@local, slot [0-3]$/u,
    );
    expect(run.events().filter(({ kind }) => kind === 'worker-died')).toEqual([]);
  });
});

it('a run that samples, updates, evaluates, is paused and held has no stall', async () => {
  const run = await lab.run({ ...TINY, sampling: { ...TINY.sampling, overlap: false } });
  await run.untilIteration(4);
  const client = await run.client();
  await client.pause(false);
  await run.until('a pause', ({ state }) => state === 'paused');
  await sleep(4000);
  const { stages } = await client.status();
  expect(stages.map(({ stage }) => stage)).not.toContain('update');
  await client.resume();
  await run.untilIteration(7);
  expect(run.events().filter(({ kind }) => kind === 'stall')).toEqual([]);
  const running = await until('stages in flight', async () => {
    const status = await client.status();
    return status.stages.some(({ stage, p99Ms }) => stage === 'store' && p99Ms !== null) ? status : null;
  });
  const workers = running.children.filter(({ role }) => role === 'worker');
  expect(workers.map(({ resources }) => resources?.tempBytes)).toEqual([0, 0]);
  expect(workers.every(({ resources }) => (resources?.openFiles ?? 0) > 0 && resources?.cpu !== null)).toBe(
    true,
  );
});
