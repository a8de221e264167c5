import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Reading } from '../../src/store/reading.ts';
import { readManifest, writeManifest } from '../../src/store/run-directory.ts';
import { LiveRun, runSources } from '../../views/live-run.ts';
import { childOf, eventOf, FakeRun, manifestOf, metricsOf, statusOf } from './fake-run.ts';

const reading = new Reading();
let fake: FakeRun;
let live: LiveRun;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 3, episodes: 5 });
  live = new LiveRun(runSources(fake.paths, reading));
});

afterEach(async () => {
  live.close();
  await fake.remove();
});

/** The fake run as its own parent: a database beside the branch's. */
function branchOf(run: string): LiveRun {
  const sources = runSources(fake.paths, reading);
  return new LiveRun({
    ...sources,
    readManifest: () => ({ ...sources.readManifest(), parent: { run, iteration: 2 } }),
  });
}

describe('LiveRun', () => {
  it('knows the run after one look', async () => {
    expect(live.snapshot().connection).toBe('connecting');
    await live.poll();
    const snapshot = live.snapshot();
    expect(snapshot).toMatchObject({
      connection: 'live',
      storeError: null,
      status: { envStepsPerS: 52_100 },
    });
    expect(snapshot.iterations.map(({ iteration }) => iteration)).toEqual([1, 2, 3]);
    expect(snapshot.events[0]?.message).toBe('started');
  });

  it('reads only what came since, and tells its listeners', async () => {
    await live.poll();
    const before = live.snapshot().iterations;
    let told = 0;
    live.subscribe(() => (told += 1));
    await live.poll();
    expect(live.snapshot().iterations).toBe(before);
    fake.store.appendIteration(metricsOf(4));
    await live.poll();
    expect(live.snapshot().iterations).toHaveLength(4);
    expect(told).toBe(2);
  });

  it('shows a child that restarts at the next look', async () => {
    await live.poll();
    fake.status = statusOf({ children: [childOf({ state: 'restarting', restarts: 1 })] });
    await live.poll();
    expect(live.snapshot().status?.children[0]?.state).toBe('restarting');
  });

  it('replaces the iterations that a resumed run does again', async () => {
    fake.status = statusOf({ iteration: 4 });
    await live.poll();
    fake.status = statusOf({ iteration: 2, attempt: 2 });
    fake.store.appendIteration(metricsOf(2, { attempt: 2, reward: 9 }));
    await live.poll();
    expect(live.snapshot().iterations[1]).toMatchObject({ iteration: 2, attempt: 2, reward: 9 });
  });

  it('says that a killed run is gone', async () => {
    await live.poll();
    await fake.die();
    await live.poll();
    expect(live.snapshot()).toMatchObject({ connection: 'gone', manifest: { state: 'running' } });
    expect(live.client).toBeNull();
  });

  it('takes the state of a run that has ended from its manifest', async () => {
    await live.poll();
    writeManifest(fake.paths, { ...readManifest(fake.paths), state: 'stopped', reason: 'asked' });
    await fake.die();
    await live.poll();
    expect(live.snapshot()).toMatchObject({
      connection: 'gone',
      manifest: { state: 'stopped', reason: 'asked' },
    });
  });

  it('goes on waiting while a run that holds its lock does not listen yet', async () => {
    const sources = runSources(fake.paths, reading);
    const starting = new LiveRun({
      ...sources,
      readManifest: () => manifestOf({ state: 'starting', socket: `${fake.runsDirectory}/not-yet` }),
    });
    await starting.poll();
    expect(starting.snapshot().connection).toBe('connecting');
    starting.close();
  });

  it('says why the database cannot be read, and reads it once it can', async () => {
    let broken = true;
    const sources = runSources(fake.paths, reading);
    const openReader = (): ReturnType<typeof sources.openReader> => {
      if (broken) throw new Error('lab.db is missing');
      return sources.openReader();
    };
    const run = new LiveRun({ ...sources, openReader });
    await run.poll();
    expect(run.snapshot()).toMatchObject({ storeError: 'lab.db is missing', connection: 'live' });
    broken = false;
    await run.poll();
    expect(run.snapshot()).toMatchObject({ storeError: null });
    expect(run.snapshot().iterations).toHaveLength(3);
    run.close();
  });

  it('has a knob in its snapshot as soon as it is turned and taken back, and reads the changes', async () => {
    await live.poll();
    await live.set({ clip: 0.3 });
    expect(live.snapshot().status).toMatchObject({ knobs: { clip: 0.3 }, undoable: { to: 0.3 } });
    await live.poll();
    expect(live.snapshot().knobChanges).toHaveLength(1);
    await live.undo();
    expect(live.snapshot().status?.knobs.clip).toBe(0.2);
    await live.poll();
    expect(live.snapshot().status?.undoable).toBeNull();
    expect(live.snapshot().knobChanges.map(({ undo }) => undo)).toEqual([false, true]);
  });

  it('keeps events that name episodes although many have come since', async () => {
    fake.store.appendEvent(eventOf({ kind: 'kl-stop', episodes: ['e1'] }));
    await live.poll();
    for (let index = 0; index < 60; index += 1) fake.store.appendEvent(eventOf());
    fake.store.appendEvent(eventOf({ kind: 'update-rolled-back', message: 'second' }));
    await live.poll();
    await live.poll();
    expect(live.snapshot().alarms.map(({ kind }) => kind)).toEqual(['update-rolled-back', 'kl-stop']);
    expect(live.snapshot().events).toHaveLength(50);
  });

  describe('of a branch', () => {
    it('has the curve of the parent', async () => {
      const branch = branchOf('demo-1');
      await branch.poll();
      expect(branch.snapshot().parentIterations.map(({ iteration }) => iteration)).toEqual([1, 2, 3]);
      branch.close();
    });

    it.each(['gone', '../evil'])('goes without when the parent cannot be read: %s', async (parent) => {
      const branch = branchOf(parent);
      await branch.poll();
      expect(branch.snapshot()).toMatchObject({ parentIterations: [], storeError: null, connection: 'live' });
      branch.close();
    });
  });
});
