import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kill, Lab, type LabRun, SLOW_UPDATES, TINY, until } from '../support/lab-run.ts';

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

/** Every number up to the newest, each once. */
function expectContiguous(run: LabRun): void {
  const iterations = run.iterations();
  expect(iterations).toEqual(Array.from({ length: iterations.length }, (_, index) => index + 1));
}

function expectSumsAgree(run: LabRun): void {
  const { total, distinct, byOutcome } = run.account();
  expect(distinct).toBe(total);
  expect(byOutcome).toBe(total);
}

describe('a worker that is killed', () => {
  it('is started again, its episodes are dispatched again, and each counts once', async () => {
    const run = await lab.run(TINY);
    await run.untilIteration(2);
    const victim = lab.pids('worker')[0]!;
    kill(victim);
    const seen = await run.until('the loss in the status', ({ children }) =>
      children.some(({ role, state, restarts }) => role === 'worker' && (state !== 'ready' || restarts > 0)),
    );
    const event = await run.untilEvent('worker-died');
    expect(event).toMatchObject({ level: 'warning', subject: expect.stringMatching(/^worker [01]@local$/u) });
    expect(event.message).toContain('killed by SIGKILL');
    expect(event.message).toMatch(/\d+ episodes will be dispatched again/u);
    await run.until('it is back', ({ children }) =>
      children.every(({ state, pid }) => state === 'ready' && pid !== victim),
    );
    await run.untilIteration(seen.iteration + 2);
    const again = await until('an episode at its second attempt', () => {
      const found = run.episodes().filter(({ attempt }) => attempt === 2);
      return found.length > 0 ? found : null;
    });
    expect(again.every(({ trust }) => trust === 'valid')).toBe(true);
    const client = await run.client();
    await client.pause(false);
    const { episodes, waste } = await run.until('paused', ({ state }) => state === 'paused');
    expect(waste!.retried).toBeGreaterThan(0);
    expectSumsAgree(run);
    expect(run.account().training).toBe(episodes);
    expectContiguous(run);
  });

  it('or stands still, is taken for hung and started again', async () => {
    const run = await lab.run({ ...TINY, supervision: { heartbeatMs: 1000 } });
    await run.untilIteration(1);
    const victim = lab.pids('worker')[0]!;
    kill(victim, 'SIGSTOP');
    const { message } = await run.untilEvent('worker-died');
    expect(message).toMatch(/was silent for [\d.]+ s and was killed/u);
    const back = await run.until('it is back', ({ children }) =>
      children.every(({ state, pid }) => state === 'ready' && pid !== victim),
    );
    await run.untilIteration(back.iteration + 1);
    await run.stop();
    expectSumsAgree(run);
  });
});

/** Workers that were told to stand still deliver what they had finished. */
async function settledCount(run: LabRun): Promise<number> {
  let last = -1;
  return await until('no more episodes', async () => {
    const { episodes } = await (await run.client()).status();
    const isSettled = episodes === last;
    last = episodes;
    await sleep(200);
    return isSettled ? episodes : null;
  });
}

describe('a trainer that is killed', () => {
  it('in the middle of an update, is started again and trains on the same batch', async () => {
    const run = await lab.run(SLOW_UPDATES);
    await run.untilUpdating();
    const before = await settledCount(run);
    const victim = lab.pid('trainer');
    kill(victim);
    const { message, level } = await run.untilEvent('trainer-died');
    expect(level).toBe('warning');
    expect(message).toContain('from the last good state');
    await run.untilIteration(1);
    expect(lab.pid('trainer')).not.toBe(victim);
    const [first] = run.read((reader) => reader.iterations());
    expect(first).toMatchObject({ iteration: 1, policyVersion: 1, staleness: 0 });
    // Nothing was sampled for it once more: the batch came from what was there when the trainer died.
    expect(first!.batchEpisodes).toBeLessThanOrEqual(before);
    expect(first!.episodes).toBe(before);
  });

  it('while it is idle, goes on from the weights it had', async () => {
    const run = await lab.run({ ...TINY, sampling: { slots: 32, batchSteps: 1536 } });
    await run.until('sampling', ({ activity, queuedSteps }) => activity === 'sampling' && queuedSteps > 0);
    kill(lab.pid('trainer'));
    await run.untilEvent('trainer-died');
    await run.untilIteration(2);
    expectContiguous(run);
    const rows = run.read((reader) => reader.iterations());
    expect(rows.map(({ policyVersion }) => policyVersion)).toEqual(rows.map(({ iteration }) => iteration));
  });
});

describe('a run process that is killed', () => {
  it('leaves no orphan, and resume goes on from its last checkpoint with every episode', async () => {
    const run = await lab.run(TINY);
    await run.untilIteration(3);
    expect(lab.pids('worker')).toHaveLength(2);
    kill(lab.pid('run'));
    await lab.untilEmpty(2000);
    const before = new Set(run.episodes().map(({ id }) => id));
    const rows = run.iterations().length;
    expect((await lab.cli('ls')).stdout).toMatch(new RegExp(`${run.id} +died`, 'u'));
    const resumed = await lab.cli('resume', run.id, '--detach');
    expect(resumed).toMatchObject({ code: 0, stderr: '' });
    const start = await run.until('running again', ({ state }) => state === 'running');
    expect(start.attempt).toBe(2);
    // Checkpoints are written after every second iteration.
    expect(start.iteration).toBeGreaterThanOrEqual(2);
    expect(start.iteration).toBeLessThanOrEqual(rows);
    await run.untilIteration(start.iteration + 2);
    await run.stop();
    const after = new Set(run.episodes().map(({ id }) => id));
    expect([...before].filter((id) => !after.has(id))).toEqual([]);
    expect(after.size).toBeGreaterThan(before.size);
    expectSumsAgree(run);
    expectContiguous(run);
    const metrics = run.read((reader) => reader.iterations());
    const firstOfTwo = metrics.findIndex(({ attempt }) => attempt === 2);
    expect(metrics[firstOfTwo]?.policyVersion).toBe(metrics[firstOfTwo]!.iteration);
    expect(metrics.slice(firstOfTwo).every(({ attempt }) => attempt === 2)).toBe(true);
    expect((await lab.cli('fsck', run.id)).stdout).toContain('nothing wrong');
  });

  it('takes its workers with it even while one spins in a step', async () => {
    const environment = lab.write(
      'spins.mjs',
      `import { environment as base } from ${JSON.stringify(workbenchModule())};
       export const environment = { ...base, create: (options) => {
         const env = base.create(options);
         const step = env.step.bind(env);
         env.step = (action) => { for (;;); };
         return env;
       } };`,
    );
    const run = await lab.run({ ...TINY, env: { name: environment } });
    await run.until('both spin', ({ children }) =>
      children.every(({ role, silentMs }) => role === 'trainer' || silentMs > 700),
    );
    expect(lab.pids('worker')).toHaveLength(2);
    kill(lab.pid('run'));
    await lab.untilEmpty(2000);
  });
});

function workbenchModule(): string {
  return new URL('../support/workbench-module.mjs', import.meta.url).href;
}
