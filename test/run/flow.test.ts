import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  activityOf,
  type FlowRules,
  isUpdateDue,
  mayDispatch,
  mayUpdate,
  paceOf,
  type Situation,
} from '../../src/run/flow.ts';

const rules: FlowRules = { overlap: false, batchSteps: 100, softBytes: 1000, hardBytes: 1400 };
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
    expect(mayUpdate(full, rules)).toBe(true);
    expect(mayUpdate(running, rules)).toBe(false);
    for (const change of [
      { state: 'pausing' },
      { evaluating: true },
      { updating: true },
      { trainerReady: false },
      { ending: 'stopped' },
    ] as const) {
      expect(mayUpdate({ ...full, ...change }, rules)).toBe(false);
    }
  });

  it('an update is due while only the trainer is missing for it, in whatever state', () => {
    const due = { ...running, queuedSteps: 100, state: 'pausing', trainerReady: false } as const;
    expect(isUpdateDue(due, rules)).toBe(true);
    for (const change of [{ evaluating: true }, { queuedSteps: 99 }, { ending: 'stopped' }] as const)
      expect(isUpdateDue({ ...due, ...change }, rules)).toBe(false);
  });

  it('sampling stands still while the trainer has the cores, unless they shall overlap', () => {
    const updating = { ...running, updating: true };
    expect(paceOf(running, rules)).toBe(1);
    expect(paceOf(updating, rules)).toBe(0);
    expect(paceOf(updating, { ...rules, overlap: true })).toBe(1);
  });

  it('sampling slows down from the soft limit on and stops at the hard one, updating or not', () => {
    for (const updating of [false, true]) {
      const paces = [999, 1000, 1100, 1300, 1399, 1400, 9000].map((queuedBytes) =>
        paceOf({ ...running, updating, queuedSteps: 100, queuedBytes }, { ...rules, overlap: true }),
      );
      expect(paces.map((pace) => Number(pace.toFixed(3)))).toEqual([1, 1, 0.75, 0.25, 0.003, 0, 0]);
    }
  });

  it('the pace never rises while the queue grows, whatever the limits', () => {
    fc.assert(
      fc.property(fc.nat(5000), fc.nat(5000), fc.nat(3000), fc.nat(3000), (less, more, soft, band) => {
        const limits = { ...rules, overlap: true, softBytes: soft, hardBytes: soft + band };
        const paces = [less, less + more].map((queuedBytes) =>
          paceOf({ ...running, queuedSteps: 100, queuedBytes }, limits),
        );
        expect(paces[0]).toBeGreaterThanOrEqual(paces[1]!);
        expect(paces.every((pace) => pace >= 0 && pace <= 1)).toBe(true);
        expect(paces[0] === 0).toBe(less >= soft + band);
      }),
    );
  });

  it('a queue without a whole batch is never full, or nothing would ever be taken from it', () => {
    expect(paceOf({ ...running, queuedBytes: 2 ** 30, queuedSteps: 99 }, rules)).toBe(1);
  });

  it('sampling stands still when the run rests', () => {
    for (const state of ['starting', 'paused', 'stalled'] as const) {
      expect(paceOf({ ...running, state }, rules)).toBe(0);
    }
    expect(paceOf({ ...running, state: 'pausing' }, rules)).toBe(1);
    expect(paceOf({ ...running, state: 'pausing', hardPaused: true }, rules)).toBe(0);
    expect(paceOf({ ...running, state: 'stopping', ending: 'stopped' }, rules)).toBe(0);
  });

  it('a full queue keeps neither what is in flight from ending before a pause, nor an evaluation', () => {
    const full = { ...running, state: 'pausing', queuedBytes: 2 ** 20, queuedSteps: 1000 } as const;
    expect(paceOf(full, rules)).toBe(1);
    expect(paceOf({ ...full, updating: true }, rules)).toBe(0);
    expect(paceOf({ ...full, state: 'running', evaluating: true }, rules)).toBe(1);
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
