import { describe, expect, test } from 'vitest';
import type { Action } from '../../src/domain/space.ts';
import { createPenaltyTracker } from '../../src/rewards/penalties.ts';

const noop: Action = { type: 'noop', argument: null };
const confirm: Action = { type: 'confirm', argument: null };
const select = (argument: string): Action => ({ type: 'select_tool', argument });
const read = (argument: string): Action => ({ type: 'read', argument });

function penaltiesOf(...steps: [Action, boolean][]): string[] {
  const tracker = createPenaltyTracker();
  return steps.map(([action, effective]) => Object.keys(tracker.observe(action, effective)).join('+'));
}

describe('penalties', () => {
  test('the same action again is a repeat only without effect', () => {
    expect(penaltiesOf([read('a'), true], [read('a'), false], [read('a'), false])).toEqual([
      '',
      'repeat',
      'repeat',
    ]);
    expect(penaltiesOf([read('a'), true], [read('a'), true])).toEqual(['', '']);
    expect(penaltiesOf([read('a'), true], [read('b'), false])).toEqual(['', '']);
  });

  test('a tool selected while another waits is a switch, after a run it is not', () => {
    expect(penaltiesOf([select('a'), true], [select('b'), true])).toEqual(['', 'tool_switch']);
    expect(penaltiesOf([select('a'), true], [read('x'), true], [select('b'), true])).toEqual([
      '',
      '',
      'tool_switch',
    ]);
    expect(penaltiesOf([select('a'), true], [confirm, true], [select('b'), true])).toEqual(['', '', '']);
  });

  test('selecting the same tool again is a switch and, without effect, a repeat', () => {
    expect(penaltiesOf([select('a'), true], [select('a'), false])).toEqual(['', 'repeat+tool_switch']);
  });

  test('hopping between types is penalised when neither had an effect', () => {
    expect(penaltiesOf([noop, false], [read('a'), false], [noop, false])).toEqual([
      '',
      'type_switch',
      'type_switch',
    ]);
  });

  test('a good action after one without effect is not penalised', () => {
    expect(penaltiesOf([noop, false], [read('a'), true], [select('b'), true])).toEqual(['', '', '']);
  });

  test('a reset forgets the episode before', () => {
    const tracker = createPenaltyTracker();
    tracker.observe(select('a'), true);
    tracker.observe(noop, false);
    tracker.reset();
    expect(tracker.observe(noop, false)).toEqual({});
    expect(tracker.observe(select('a'), true)).toEqual({});
  });
});
