import { describe, expect, it } from 'vitest';
import { alignExecutions } from '../../src/replay/align.ts';
import type { RecordedExecution } from '../../src/replay/recorded.ts';

type Step = RecordedExecution['steps'][number];

function step(lines: string[], argument: string, change: Partial<Step> = {}): Step {
  const action = { type: 'read', argument } as const;
  return { lines, candidates: [], action, effective: true, reward: 0, parts: [], ...change };
}

function execution(steps: Step[], finalLines: string[], success = true): RecordedExecution {
  return { steps, finalLines, end: { terminated: true, success, failure: success ? null : 'wrong_result' } };
}

const BASE = execution(
  [step(['task', 'start'], 'a'), step(['task', 'start', 'read a'], 'b')],
  ['task', 'read b'],
);

/** Rows of an episode beside one whose only step is changed. */
function kinds(change: Partial<Step>): string[] {
  const other = execution([step(['task', 'start'], 'a', change)], ['task', 'read b']);
  const one = execution([step(['task', 'start'], 'a')], ['task', 'read b']);
  return alignExecutions(one, other).map(({ kind, same }) => `${kind}${same ? '' : '!'}`);
}

describe('two executions beside each other', () => {
  it('of what is the same list only what was done', () => {
    expect(alignExecutions(BASE, BASE)).toEqual([
      { kind: 'step', step: 1, left: 'read "a"', right: 'read "a"', same: true },
      { kind: 'step', step: 2, left: 'read "b"', right: 'read "b"', same: true },
      { kind: 'end', step: 3, left: 'success after 2 steps', right: 'success after 2 steps', same: true },
    ]);
  });

  it('list what was seen, done and paid where a step differs, and only the lines that are new in it', () => {
    const part = { name: 'progress', raw: 1, weighted: 0.1, paid: 0.1 };
    const other = execution(
      [step(['task', 'start'], 'a'), step(['task', 'start', 'read A'], 'b', { reward: 0.1, parts: [part] })],
      ['task', 'read b'],
    );
    expect(
      alignExecutions(BASE, other).map(({ kind, step: at, left, right, same }) => [
        kind,
        at,
        left,
        right,
        same,
      ]),
    ).toEqual([
      ['step', 1, 'read "a"', 'read "a"', true],
      ['sees', 2, 'read a', 'read A', false],
      ['step', 2, 'read "b"', 'read "b"', true],
      ['gets', 2, 'reward 0', 'reward 0.1  progress 0.1', false],
      ['end', 3, 'success after 2 steps', 'success after 2 steps', true],
    ]);
  });

  it('list a step whole that differs in one thing alone', () => {
    expect(kinds({ reward: 1 })).toEqual(['sees', 'sees', 'step', 'gets!', 'end']);
    expect(kinds({ effective: false })).toEqual(['sees', 'sees', 'step', 'gets!', 'end']);
    // To the one who sees the end, all of it is new then.
    expect(kinds({ agent: 'speaker' })).toEqual(['sees', 'sees', 'step!', 'gets', 'sees!', 'end']);
    expect(kinds({ lines: ['task'] })).toEqual(['sees', 'sees!', 'step', 'gets', 'end']);
  });

  it('put equal lines beside each other although others came between', () => {
    const left = execution([step(['one', 'two', 'three'], 'a')], []);
    const right = execution([step(['one', 'extra', 'three'], 'a')], []);
    const sees = alignExecutions(left, right).filter(({ kind }) => kind === 'sees');
    expect(sees.map(({ left: l, right: r }) => [l, r])).toEqual([
      ['one', 'one'],
      ['two', 'extra'],
      ['three', 'three'],
    ]);
    const longer = alignExecutions(left, execution([step(['one', 'two', 'new', 'three'], 'a')], []));
    expect(longer.find(({ right: r }) => r === 'new')?.left).toBeNull();
  });

  it('go on to the end of the longer one', () => {
    const shorter = execution([step(['task', 'start'], 'a')], ['task', 'stop'], false);
    const rows = alignExecutions(BASE, shorter);
    expect(rows.find(({ kind, step: at }) => kind === 'step' && at === 2)).toMatchObject({
      left: 'read "b"',
      right: null,
    });
    expect(rows.at(-1)).toMatchObject({
      left: 'success after 2 steps',
      right: 'wrong_result after 1 step',
      same: false,
    });
  });
});
