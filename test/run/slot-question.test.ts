import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SlotQuestion } from '../../src/run/slot-question.ts';

const SLOTS = [
  {
    slot: 0,
    stage: 'free',
    waitMs: null,
    episode: null,
    ageMs: null,
    steps: null,
    cpu: 0,
    tempBytes: 0,
    openFiles: null,
  },
] as const;

let asked = 0;
const send = (): void => void asked++;
beforeEach(() => {
  asked = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('who asks what is in the slots of a worker', () => {
  it('at the same time as another gets the same answer, which is asked for once', async () => {
    const question = new SlotQuestion();
    const answers = Promise.all([question.ask(send, 1000), question.ask(send, 2000)]);
    question.answer(SLOTS);
    expect(await answers).toEqual([SLOTS, SLOTS]);
    expect(asked).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('waits no longer than he wants to, and the other goes on waiting', async () => {
    const question = new SlotQuestion();
    const answers = [question.ask(send, 1000), question.ask(send, 2000)];
    await vi.advanceTimersByTimeAsync(1000);
    expect(await answers[0]).toBeNull();
    question.answer(SLOTS);
    expect(await answers[1]).toEqual(SLOTS);
  });

  it('after one that was not answered, or whose worker has gone, asks anew', async () => {
    const question = new SlotQuestion();
    const late = question.ask(send, 1000);
    await vi.advanceTimersByTimeAsync(1000);
    const lost = question.ask(send, 1000);
    question.answer(null);
    expect([await late, await lost]).toEqual([null, null]);
    const answered = question.ask(send, 1000);
    expect(asked).toBe(3);
    question.answer(SLOTS);
    expect(await answered).toEqual(SLOTS);
  });

  it('an answer that nobody waits for is nobody’s', async () => {
    const question = new SlotQuestion();
    question.answer(SLOTS);
    const answer = question.ask(send, 1000);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await answer).toBeNull();
  });
});
