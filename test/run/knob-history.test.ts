import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KnobName } from '../../src/domain/knob.ts';
import type { KnobChange } from '../../src/domain/run.ts';
import { KnobHistory } from '../../src/run/knob-history.ts';

function change(knob: KnobName, from: number, to: number, who = 'ann@host', undo = false): KnobChange {
  return { time: 1, who, knob, from, to, iteration: 1, minibatch: 0, undo };
}

describe('the history of knobs', () => {
  it('undoes turns by people, newest first, each once', () => {
    const history = new KnobHistory([]);
    const first = change('clip', 0.2, 0.1);
    const second = change('lr', 0.001, 0.002, 'bob@host');
    for (const one of [
      first,
      second,
      change('kl', 0.05, 0.1, 'config'),
      change('lr', 0.002, 0.001, 'guard'),
    ]) {
      history.add(one);
    }
    expect(history.undoable).toEqual(second);
    history.add(change('lr', 0.001, 0.001, 'ann@host', true));
    expect(history.undoable).toEqual(first);
    history.add(change('clip', 0.1, 0.2, 'ann@host', true));
    expect(history.undoable).toBeNull();
    expect(history.length).toBe(6);
  });

  it('does not offer a turn that changed nothing', () => {
    const history = new KnobHistory([]);
    history.add(change('clip', 0.2, 0.2));
    expect(history.undoable).toBeNull();
  });

  it('ends a schedule at the first turn, and takes it up again when that one is undone', () => {
    const history = new KnobHistory(['lr', 'entropy']);
    expect(history.add(change('lr', 0.001, 0.0009, 'schedule'))).toBeNull();
    expect(history.add(change('lr', 0.0009, 0.0005))).toBe('off');
    expect(history.add(change('lr', 0.0005, 0.0003))).toBeNull();
    expect(history.scheduled).toEqual(['entropy']);
    expect(history.off).toEqual(['lr']);
    expect(history.add(change('lr', 0.0003, 0.0005, 'ann@host', true))).toBeNull();
    expect(history.follows('lr')).toBe(false);
    expect(history.add(change('lr', 0.0005, 0.0009, 'ann@host', true))).toBe('on');
    expect(history.scheduled).toEqual(['entropy', 'lr']);
  });

  it('a turn that holds a scheduled knob where it is ends the schedule too, and can be undone', () => {
    const history = new KnobHistory(['lr']);
    expect(history.add(change('lr', 0.001, 0.001))).toBe('off');
    expect(history.undoable).not.toBeNull();
  });

  it('the guard ends a schedule; only the schedule itself takes that one up again', () => {
    const history = new KnobHistory(['lr']);
    history.add(change('clip', 0.2, 0.1));
    expect(history.add(change('lr', 0.001, 0.0005, 'guard'))).toBe('off');
    expect(history.add(change('clip', 0.1, 0.2, 'ann@host', true))).toBeNull();
    expect(history.scheduled).toEqual([]);
    expect(history.add(change('lr', 0.0005, 0.001, 'schedule'))).toBe('on');
    expect(history.scheduled).toEqual(['lr']);
  });

  it('of a branch begins with what was off in its parent', () => {
    const history = new KnobHistory(['lr'], ['lr', 'clip']);
    expect(history.scheduled).toEqual([]);
    expect(history.off).toEqual(['lr']);
    history.add(change('lr', 1, 0.001, 'schedule'));
    expect(history.scheduled).toEqual(['lr']);
  });

  it('undoing everything brings every knob back to where people found it, whoever else was at it', () => {
    const knobs = ['clip', 'lr', 'entropy'] as const;
    const turn = fc.record({
      knob: fc.constantFrom(...knobs),
      to: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 30 }), (turns) => {
        const history = new KnobHistory([]);
        const values = { clip: 0.2, lr: 0.001, entropy: 0.01 };
        const begin = { ...values };
        const set = (knob: (typeof knobs)[number], to: number, undo: boolean): void => {
          history.add(change(knob, values[knob], to, 'ann@host', undo));
          values[knob] = to;
        };
        for (const { knob, to } of turns) set(knob, to, false);
        for (let next = history.undoable; next !== null; next = history.undoable) {
          set(knobs.find((knob) => knob === next?.knob)!, next.from, true);
        }
        expect(values).toEqual(begin);
      }),
    );
  });
});
