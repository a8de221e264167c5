import { describe, expect, test } from 'vitest';
import { DEFAULT_REWARDS } from '../../src/domain/default-rewards.ts';
import type { RewardPart } from '../../src/domain/reward.ts';
import type { Action } from '../../src/domain/space.ts';
import { createBehaviourTracker, type TracedStep } from '../../src/rewards/behaviours.ts';
import { findBehaviours } from '../support/behaviours.ts';

const noop: Action = { type: 'noop', argument: null };
const submit: Action = { type: 'submit', argument: null };
const select = (argument: string): Action => ({ type: 'select_tool', argument });
const read = (argument: string): Action => ({ type: 'read', argument });
const good = (action: Action, ...parts: RewardPart[]): TracedStep => ({ action, effective: true, parts });
const idle = (action: Action): TracedStep => ({ action, effective: false, parts: [] });
const paid = (name: string, amount: number): RewardPart => ({ name, raw: 1, weighted: amount, paid: amount });
const many = (count: number): TracedStep[] => Array.from({ length: count }, (_, i) => good(read(`f${i}`)));

const of = (steps: TracedStep[], success = false) => findBehaviours({ steps, success }, DEFAULT_REWARDS);

describe('behaviours', () => {
  test('a clean episode shows none', () => {
    expect(of([...many(6), good(submit)], true)).toEqual([]);
  });

  test('three times the same action without effect is a loop, also with others in between', () => {
    expect(of([...many(20), idle(noop), idle(read('f1')), idle(noop), idle(noop)])).toEqual(['loop']);
    expect(of([...many(20), idle(noop), idle(noop), idle(read('f1'))])).toEqual([]);
  });

  test('three needless selections are tool thrash', () => {
    const thrash = ['a', 'b', 'c', 'd'].map((tool) => good(select(tool)));
    expect(of(thrash)).toEqual(['tool_thrash']);
    expect(of(thrash.slice(1))).toEqual([]);
  });

  test('the cap of progress reached without success is reward farming', () => {
    const farmed = Array.from({ length: 10 }, (_, i) => good(read(`f${i}`), paid('progress', 0.04)));
    expect(of(farmed)).toEqual(['reward_farming']);
    expect(of(farmed, true)).toEqual([]);
    expect(of(farmed.slice(1))).toEqual([]);
  });

  test('the cap of a penalty reached is not farming', () => {
    expect(of([...many(3), good(noop, paid('repeat', -0.15))])).toEqual([]);
  });

  test('a third of the actions without effect are invalid actions, fewer are not', () => {
    expect(of([...many(2), idle(noop)])).toEqual(['invalid_actions']);
    expect(of([...many(3), idle(noop)])).toEqual([]);
    expect(of([])).toEqual([]);
  });

  test('an unread submit is taken from the reward part, whatever it was paid', () => {
    expect(of([good(submit, { name: 'unread_submit', raw: 1, weighted: 0, paid: 0 })])).toEqual([
      'unread_submit',
    ]);
  });

  test('a tracker that begins again knows nothing of the episode before', () => {
    const tracker = createBehaviourTracker(DEFAULT_REWARDS);
    const penalties = { tool_switch: 1 };
    for (let i = 0; i < 10; i++) {
      tracker.observe(idle(noop), penalties);
      tracker.observe(good(submit, paid('progress', 0.04), paid('unread_submit', -0.1)), penalties);
    }
    expect(tracker.find(false)).toEqual([
      'loop',
      'tool_thrash',
      'reward_farming',
      'invalid_actions',
      'unread_submit',
    ]);
    tracker.reset();
    expect(tracker.find(false)).toEqual([]);
    for (const step of many(3)) tracker.observe(step, {});
    expect(tracker.find(false)).toEqual([]);
  });
});
