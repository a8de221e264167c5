import { expect, test } from 'vitest';
import { initialKnobs } from '../../../src/domain/knob.ts';
import { KnobBoard } from '../../../trainer/ppo/knob-board.ts';

test('a wish waits until it is applied, and says what it replaced, where and for whom', () => {
  const board = new KnobBoard(initialKnobs());
  board.request({ knob: 'clip', value: 0.1, who: 'ann@host', undo: false });
  board.request({ knob: 'clip', value: 0.3, who: 'bob@host', undo: true });
  expect(board.values.clip).toBe(0.2);
  const at = { iteration: 4, minibatch: 7, time: 99 };
  expect(board.apply(at)).toEqual([
    { ...at, knob: 'clip', from: 0.2, to: 0.1, who: 'ann@host', undo: false },
    { ...at, knob: 'clip', from: 0.1, to: 0.3, who: 'bob@host', undo: true },
  ]);
  expect(board.values.clip).toBe(0.3);
  expect(board.apply(at)).toEqual([]);
});

test('a value out of range is refused and changes nothing', () => {
  const board = new KnobBoard(initialKnobs());
  expect(() => board.request({ knob: 'epochs', value: 1.5, who: 'ann', undo: false })).toThrow(
    'epochs takes a whole number',
  );
  expect(board.apply({ iteration: 1, minibatch: 0, time: 0 })).toEqual([]);
});
