import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kill, Lab, type LabRun, SLOW_UPDATES, TINY, until } from '../support/lab-run.ts';

let lab: Lab;
beforeEach(() => {
  lab = new Lab();
});
afterEach(() => lab.remove());

function knobTurns(run: LabRun): string[] {
  return run.read((reader) => reader.knobChanges().map(({ knob, who, to }) => `${knob} ${to} ${who}`));
}

describe('a schedule', () => {
  const config = {
    ...TINY,
    schedule: {
      lr: {
        points: [
          [0, 0.001],
          [1000, 0.002],
        ],
      },
      clip: { points: [[0, 0.3]] },
    },
    knobs: { ...TINY.knobs, lr: 0.05 },
  };

  it('moves its knob before every update, until a person turns it; undo takes it up again, also after a resume', async () => {
    const run = await lab.run(config);
    await run.untilIteration(3);
    expect((await run.tryStatus())!.scheduled).toEqual(['clip', 'lr']);
    expect(knobTurns(run).slice(0, 2)).toEqual(['lr 0.001001 schedule', 'lr 0.001002 schedule']);
    const rows = run.read((reader) => reader.iterations());
    expect(rows.slice(0, 3).map(({ learningRate }) => learningRate)).toEqual([0.001, 0.001001, 0.001002]);
    await (await run.client()).set({ lr: 0.0005 });
    const off = await run.untilEvent('schedule-off');
    expect(off).toMatchObject({ subject: 'lr', level: 'info' });
    await run.stop();
    await lab.cli('resume', run.id, '--detach');
    const resumed = await run.until('running', ({ state, attempt }) => state === 'running' && attempt === 2);
    expect(resumed.scheduled).toEqual(['clip']);
    expect(resumed.knobs).toMatchObject({ lr: 0.0005, clip: 0.3 });
    expect(resumed.undoable).toMatchObject({ knob: 'lr', to: 0.0005 });
    const client = await run.client();
    expect(await client.undo()).toMatchObject({ knob: 'lr', from: 0.0005, undo: true });
    const { iteration, scheduled, undoable } = await client.status();
    expect(scheduled).toEqual(['clip', 'lr']);
    expect(undoable).toBeNull();
    await run.untilIteration(iteration + 2);
    expect((await client.status()).knobs.lr).toBeGreaterThan(0.001);
    await expect(client.undo()).rejects.toMatchObject({ code: 'usage' });
    await client.set({ lr: 0.0005 });
    expect(await client.schedule(['lr'])).toMatchObject([{ knob: 'lr', who: 'schedule', from: 0.0005 }]);
    await expect(client.schedule(['kl'])).rejects.toMatchObject({ code: 'usage' });
  });
});

describe('a knob that was turned after the last checkpoint', () => {
  it('is still turned when the run is killed and resumed, and undo puts it back', async () => {
    const run = await lab.run({ ...TINY, checkpoint: { every: 1000 } });
    await run.untilIteration(1);
    await (await run.client()).set({ clip: 0.11 });
    kill(lab.pid('run'));
    await lab.untilEmpty(2000);
    await lab.cli('resume', run.id, '--detach');
    const { knobs, undoable, iteration } = await run.until('running', ({ state, attempt }) => {
      return state === 'running' && attempt === 2;
    });
    expect(knobs.clip).toBe(0.11);
    expect(undoable).toMatchObject({ knob: 'clip', from: 0.2 });
    expect((await run.untilEvent('knobs-restored')).message).toContain('clip 0.11 by ');
    await (await run.client()).undo();
    await run.untilIteration(iteration + 1);
    expect((await run.tryStatus())!.knobs.clip).toBe(0.2);
  });
});

describe('a preview', () => {
  it('is refused before the first update, and for a value that is out of range', async () => {
    const run = await lab.run({ ...TINY, sampling: { slots: 32, batchSteps: 1_000_000, queueMiB: 4096 } });
    await run.until('running', ({ state }) => state === 'running');
    const client = await run.client();
    await expect(client.preview({ clip: 0.1 })).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining('no update was made yet'),
    });
    await expect(client.preview({ clip: 7 })).rejects.toMatchObject({ code: 'knob-invalid' });
  });

  it('turns nothing, and is to be had in the middle of an update that rests', async () => {
    const run = await lab.run(SLOW_UPDATES);
    const client = await run.client();
    await run.untilUpdating();
    await client.pause(true);
    const preview = await client.preview({ clip: 0.9, lr: 0.01 });
    expect(preview).toMatchObject({ iteration: 1, minibatches: 8, samples: 128 });
    expect(preview.wouldBe.kl).toBeGreaterThan(preview.now.kl);
    expect((await client.status()).knobs).toMatchObject({ clip: 0.2, lr: 0.001 });
    expect(knobTurns(run)).toEqual([]);
  });
});

describe('the guard', () => {
  /** Every update passes the limit in its second minibatch at the latest. */
  const SPIKES = { ...TINY, knobs: { ...TINY.knobs, lr: 0.1, kl_limit: 0 } };
  const limits = { kl: 0.0001, entropy: 0 };

  it('pauses the run if the config says so: the reason says which update, an event the episodes', async () => {
    const run = await lab.run({ ...SPIKES, guard: { ...limits, action: 'pause' } });
    const paused = await run.until('paused', ({ state }) => state === 'paused');
    expect(paused.reason).toMatch(/^update 1 rolled back: minibatch \d+: KL [\d.e-]+/u);
    expect(paused).toMatchObject({ iteration: 0, policyVersion: 0 });
    const event = await run.untilEvent('update-rolled-back');
    expect(event.level).toBe('error');
    expect(event.episodes.length).toBeGreaterThan(0);
    const stored = new Set(run.episodes().map(({ id }) => String(id)));
    expect(event.episodes.every((id) => stored.has(id))).toBe(true);
    expect(run.iterations()).toEqual([]);
    const client = await run.client();
    await client.set({ lr: 0 });
    await client.resume();
    await run.untilIteration(1);
    expect((await client.status()).reason).toBeNull();
  });

  it('eases knobs by the stated rule, recorded as its own, until updates hold', async () => {
    const guard = { ...limits, action: 'ease', ease: { lr: 0.000001, epochs: 0.5 } };
    const run = await lab.run({ ...SPIKES, guard });
    await run.untilIteration(1);
    expect(knobTurns(run).slice(0, 2)).toEqual(['lr 1e-7 guard', 'epochs 2 guard']);
    const { message } = await run.untilEvent('update-rolled-back');
    expect(message).toContain('eased: lr 0.1 → 1e-7, epochs 3 → 2');
    expect((await run.tryStatus())!.undoable).toBeNull();
  });

  it('stalls a run whose updates are rolled back again and again', async () => {
    const run = await lab.run({ ...SPIKES, guard: limits });
    const { reason, policyVersion } = await run.until('stalled', ({ state }) => state === 'stalled');
    expect(reason).toMatch(/^3 updates in a row were dropped: minibatch \d+: KL/u);
    expect(policyVersion).toBe(0);
  });

  it('an update that the KL limit ended is told of with its episodes', async () => {
    const knobs = { ...TINY.knobs, lr: 0.1, kl_target: 0, kl_limit: 0.0001 };
    const run = await lab.run({ ...TINY, knobs, guard: { kl: 0, entropy: 0 } });
    const event = await run.untilEvent('kl-stop');
    expect(event).toMatchObject({ level: 'info', subject: 'trainer' });
    expect(event.message).toMatch(
      /^update \d+ ended after minibatch \d+: its KL is [\d.e-]+, above kl_limit; largest/u,
    );
    expect(event.episodes.length).toBeGreaterThan(0);
  });
});

describe('sampling that overlaps with updates', () => {
  it('goes on while the trainer updates, and no batch is staler than the bound', async () => {
    const run = await lab.run({
      ...SLOW_UPDATES,
      sampling: { ...TINY.sampling, overlap: true, maxStaleness: 2 },
    });
    const before = await run.until('an update', ({ activity }) => activity === 'updating');
    await until('episodes during that update', async () => {
      const status = await run.tryStatus();
      if (status?.iteration !== before.iteration) throw new Error('the update was over before any came');
      return status.episodes > before.episodes ? status : null;
    });
    await run.untilIteration(4);
    const rows = run.read((reader) => reader.iterations());
    expect(rows[0]).toMatchObject({ staleness: 0, stalest: 0 });
    expect(rows.some(({ stalest }) => stalest >= 1)).toBe(true);
    expect(rows.every(({ stalest, staleness }) => stalest <= 2 && staleness <= stalest)).toBe(true);
    expect(
      rows.every(({ success, reward, meanSteps }) => success >= 0 && reward !== 0 && meanSteps > 0),
    ).toBe(true);
  });

  it('with a bound of 0 throws away what was sampled meanwhile, says so, and still gets on', async () => {
    const run = await lab.run({ ...TINY, sampling: { ...TINY.sampling, overlap: true, maxStaleness: 0 } });
    await run.untilIteration(3);
    const rows = run.read((reader) => reader.iterations());
    expect(rows.every(({ stalest }) => stalest === 0)).toBe(true);
    expect(rows.some(({ staleSteps }) => staleSteps > 0)).toBe(true);
    expect((await run.untilEvent('samples-stale')).message).toContain('more than 0 policy versions old');
  });
});

it('what the children run on is told at the start', async () => {
  const run = await lab.run(TINY);
  // The run begins with the first worker that is ready; the others say later what they run on, and the index follows.
  const { children } = await run.until('every child to say what it runs on', (status) =>
    status.children.every(({ provider }) => provider !== null),
  );
  expect(children.map(({ provider }) => provider)).toEqual(['cpu', 'cpu', 'cpu']);
  for (const subject of ['trainer@local', 'worker 0@local', 'worker 1@local']) {
    await run.untilEvent('provider', (event) => event.subject === subject);
  }
  const told = run.events().filter(({ kind }) => kind === 'provider');
  expect(told.map(({ subject }) => subject).toSorted()).toEqual([
    'trainer@local',
    'worker 0@local',
    'worker 1@local',
  ]);
});
