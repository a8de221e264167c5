import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Lab, SLOW_UPDATES, TINY } from '../support/lab-run.ts';

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

describe('stop', () => {
  it('leaves no process, the state "stopped" and a checkpoint; until then, what alerts say', async () => {
    const alerts = [
      { name: 'any', filter: '*', last: 2, above: 1 },
      { name: 'never', metric: 'kl', above: 1000 },
    ];
    const run = await lab.run({ ...TINY, alerts });
    await run.untilIteration(1);
    const { alerts: holding } = await run.until('told', ({ alerts: holds }) => holds.length > 0);
    expect(holding).toMatchObject([{ name: 'any', filter: expect.stringMatching(/^id:e\d+\.\.e\d+$/u) }]);
    expect(run.events().filter(({ kind }) => kind === 'alert')).toMatchObject([
      { level: 'warning', subject: 'any', filter: holding[0]?.filter },
    ]);
    const { code, stdout } = await lab.cli('stop');
    expect(code).toBe(0);
    expect(stdout).toContain(
      `run ${run.id} is stopped; go on with: agentrl-lab resume ${run.id} --runs ${lab.runs}`,
    );
    await lab.untilEmpty(2000);
    expect(run.manifest()).toMatchObject({ state: 'stopped', pid: null, reason: null });
    expect(run.events().some(({ kind }) => kind === 'checkpoint')).toBe(true);
    const again = await lab.cli('stop', run.id);
    expect(again).toMatchObject({ code: 0, stdout: `run ${run.id} was not live: it is stopped\n` });
  });

  it('in the middle of an update lets it end and keeps what it came to', async () => {
    const run = await lab.run(SLOW_UPDATES);
    await run.untilUpdating();
    await run.stop();
    await lab.untilEmpty(2000);
    expect(run.manifest().state).toBe('stopped');
    expect(run.iterations()).toEqual([1]);
  });

  it('twice at the same time is as good as once', async () => {
    const run = await lab.run(TINY);
    await run.untilIteration(1);
    const results = await Promise.all([lab.cli('stop', run.id), lab.cli('stop', run.id)]);
    expect(results.map(({ code, stderr }) => ({ code, stderr }))).toEqual([
      { code: 0, stderr: '' },
      { code: 0, stderr: '' },
    ]);
    await lab.untilEmpty(2000);
    expect(run.events().filter(({ kind }) => kind === 'run-stopped')).toHaveLength(1);
  });

  it('by Ctrl-C of the command that follows it: code 130, nothing left over', async () => {
    const command = lab.start('run', lab.write('lab.yaml', TINY), '--headless');
    const run = await lab.onlyRun();
    await run.untilIteration(1);
    command.process.kill('SIGINT');
    const { code, stderr } = await command.result;
    expect(code).toBe(130);
    expect(stderr).toContain('stopping the run after SIGINT');
    await lab.untilEmpty(2000);
    expect(run.manifest().state).toBe('stopped');
  });
});

describe('pause', () => {
  it('freezes the counters until resume', async () => {
    const run = await lab.run(TINY);
    await run.untilIteration(1);
    expect((await lab.cli('pause')).code).toBe(0);
    const paused = await run.until('paused', ({ state }) => state === 'paused');
    expect(paused).toMatchObject({ activity: 'resting' });
    await sleep(600);
    const { episodes, envSteps, iteration, elapsedS } = (await run.tryStatus())!;
    expect({ episodes, envSteps, iteration, elapsedS }).toEqual({
      episodes: paused.episodes,
      envSteps: paused.envSteps,
      iteration: paused.iteration,
      elapsedS: paused.elapsedS,
    });
    await lab.cli('resume', run.id, '--detach');
    await run.untilIteration(iteration + 1);
  });

  it('at once, in the middle of an update, rests between two minibatches; knobs turned meanwhile are taken', async () => {
    const run = await lab.run(SLOW_UPDATES);
    await run.untilUpdating();
    await lab.cli('pause', '--now');
    await run.until('paused', ({ state }) => state === 'paused');
    const set = await lab.cli('set', 'clip=0.11', 'lr=0.0005');
    expect(set).toMatchObject({ code: 0, stderr: '' });
    expect(set.stdout).toMatch(/^clip 0\.2 → 0\.11 from iteration 1, minibatch \d+$/mu);
    await sleep(500);
    expect(run.iterations()).toEqual([]);
    await lab.cli('resume', run.id, '--detach');
    await run.untilIteration(1);
    const changes = run.read((reader) => reader.knobChanges());
    expect(changes).toMatchObject([
      { knob: 'clip', from: 0.2, to: 0.11, iteration: 1, who: expect.stringMatching(/^.+@.+$/u) },
      { knob: 'lr', from: 0.001, to: 0.0005, iteration: 1 },
    ]);
    expect(changes.every(({ time, minibatch }) => time > 0 && minibatch >= 0)).toBe(true);
    await run.stop();
    await lab.cli('resume', run.id, '--detach');
    const { knobs } = await run.until('running', ({ state }) => state === 'running');
    expect(knobs).toMatchObject({ clip: 0.11, lr: 0.0005 });
  });
});

describe('set', () => {
  it('during an update is acknowledged with the minibatch that first uses it', async () => {
    const run = await lab.run(SLOW_UPDATES);
    await run.untilUpdating();
    const { code, stdout } = await lab.cli('set', 'entropy=0.02', '--json');
    expect(code).toBe(0);
    const { changes } = z.object({ changes: z.array(z.unknown()) }).parse(JSON.parse(stdout));
    expect(changes).toMatchObject([{ knob: 'entropy', to: 0.02, iteration: 1 }]);
    expect(run.read((reader) => reader.knobChanges())).toEqual(changes);
  });

  it.each([
    ['clip=7', /clip=7 is out of range: clip takes a number from 0\.01 to 1/u],
    ['epochs=1.5', /epochs takes a whole number from 1 to 50/u],
    ['clips=0.1', /"clips" is not a knob\n.*did you mean clip\?/u],
    ['clip=', /"clip=" is not an assignment/u],
  ])('%s is refused with what would be right, and changes nothing', async (assignment, message) => {
    const { code, stderr } = await lab.cli('set', assignment);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  it('out of range through the socket itself is refused too, all or nothing', async () => {
    const run = await lab.run(TINY);
    await run.until('running', ({ state }) => state === 'running');
    const client = await run.client();
    await expect(client.set({ lr: 0.002, clip: 7 })).rejects.toMatchObject({ code: 'knob-invalid' });
    expect((await client.status()).knobs.lr).toBe(0.001);
  });
});

describe('resume', () => {
  it('of a run that has reached its end says how to give it more', async () => {
    const run = await lab.run({ ...TINY, stop: { minutes: null, iterations: 1 } });
    await lab.untilEmpty(60_000);
    const refused = await lab.cli('resume', run.id, '--detach');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/has reached its end: iteration 1 of 1[^]*--iterations 101/u);
    expect((await lab.cli('resume', run.id, '--detach', '--iterations', '2')).code).toBe(0);
    await lab.untilEmpty(60_000);
    expect(run.manifest()).toMatchObject({ state: 'finished', attempt: 2 });
    expect(run.iterations()).toEqual([1, 2]);
  });

  it('keeps a knob that was turned, and takes over one that is set with it', async () => {
    const run = await lab.run(TINY);
    await run.untilIteration(1);
    expect((await lab.cli('set', 'clip=0.11', 'entropy=0.03')).code).toBe(0);
    await run.stop();
    const { code } = await lab.cli('resume', run.id, '--detach', '--set', 'entropy=0.02');
    expect(code).toBe(0);
    const { knobs } = await run.until('running again', ({ state, attempt }) => {
      return state === 'running' && attempt === 2;
    });
    expect(knobs).toMatchObject({ clip: 0.11, entropy: 0.02 });
    const newest = run.read((reader) => reader.knobChanges().at(-1));
    expect(newest).toMatchObject({ who: 'config', knob: 'entropy', from: 0.03, to: 0.02, minibatch: 0 });
  });
});
