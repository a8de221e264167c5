import { describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { activityOf, mayDispatch, mayUpdate, mustHold, type Situation } from '../../src/run/flow.ts';

const { sampling } = configSchema.parse({
  sampling: { slots: 8, batchSteps: 100, queueMiB: 1, overlap: false },
});
const running: Situation = {
  state: 'running',
  hardPaused: false,
  ending: null,
  evaluating: false,
  updating: false,
  trainerReady: true,
  queuedSteps: 0,
  queuedBytes: 0,
};

describe('the flow of a run', () => {
  it('updates when a whole batch is there and nothing else has the floor', () => {
    const full = { ...running, queuedSteps: 100 };
    expect(mayUpdate(full, sampling)).toBe(true);
    expect(mayUpdate(running, sampling)).toBe(false);
    for (const change of [
      { state: 'pausing' },
      { evaluating: true },
      { updating: true },
      { trainerReady: false },
      { ending: 'stopped' },
    ] as const) {
      expect(mayUpdate({ ...full, ...change }, sampling)).toBe(false);
    }
  });

  it('sampling stands still while the trainer has the cores, unless they shall overlap', () => {
    const updating = { ...running, updating: true };
    expect(mustHold(running, sampling)).toBe(false);
    expect(mustHold(updating, sampling)).toBe(true);
    expect(mustHold(updating, { ...sampling, overlap: true })).toBe(false);
    expect(mustHold({ ...updating, queuedSteps: 100 }, { ...sampling, overlap: true })).toBe(true);
  });

  it('a queue without a whole batch is never full, or nothing would ever be taken from it', () => {
    expect(mustHold({ ...running, queuedBytes: 2 ** 30, queuedSteps: 99 }, sampling)).toBe(false);
  });

  it('sampling stands still when the queue is full, or the run rests', () => {
    expect(mustHold({ ...running, queuedBytes: 2 ** 20, queuedSteps: 100 }, sampling)).toBe(true);
    for (const state of ['starting', 'paused', 'stalled'] as const) {
      expect(mustHold({ ...running, state }, sampling)).toBe(true);
    }
    expect(mustHold({ ...running, state: 'pausing' }, sampling)).toBe(false);
    expect(mustHold({ ...running, state: 'pausing', hardPaused: true }, sampling)).toBe(true);
  });

  it('a full queue does not keep what is in flight from ending before a pause', () => {
    const full = { ...running, state: 'pausing', queuedBytes: 2 ** 20 } as const;
    expect(mustHold(full, sampling)).toBe(false);
    expect(mustHold({ ...full, updating: true }, sampling)).toBe(true);
  });

  it('gives out episodes while running, and those of the final evaluation', () => {
    expect(mayDispatch(running)).toBe(true);
    expect(mayDispatch({ ...running, state: 'pausing' })).toBe(false);
    expect(mayDispatch({ ...running, state: 'stopping', ending: 'finished', evaluating: true })).toBe(true);
    expect(mayDispatch({ ...running, state: 'stopping', ending: 'stopped', evaluating: true })).toBe(false);
  });

  it('has one word for what the run is at', () => {
    expect(activityOf(running)).toBe('sampling');
    expect(activityOf({ ...running, updating: true })).toBe('updating');
    expect(activityOf({ ...running, evaluating: true })).toBe('evaluating');
    expect(activityOf({ ...running, state: 'paused' })).toBe('resting');
    expect(activityOf({ ...running, state: 'starting' })).toBe('starting');
  });
});
