import { expect, it } from 'vitest';
import { Lockstep } from '../../src/sampling/lockstep.ts';

/** Whether it is still pending after everything else that is due. */
async function isPending(promise: Promise<void>): Promise<boolean> {
  let done = false;
  void promise.then(() => (done = true));
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  return !done;
}

it('waits for the answer to what was said, once', async () => {
  let asked = 0;
  const lockstep = new Lockstep(() => asked++);
  expect(await isPending(lockstep.catchUp())).toBe(false);
  expect(asked).toBe(0);
  lockstep.spoke();
  lockstep.spoke();
  const waiting = lockstep.catchUp();
  expect(await isPending(waiting)).toBe(true);
  // What is said meanwhile, as by a message that comes before the answer, is for the next time.
  lockstep.spoke();
  lockstep.release();
  expect(await isPending(waiting)).toBe(false);
  expect(asked).toBe(1);
  const next = lockstep.catchUp();
  expect(await isPending(next)).toBe(true);
  lockstep.release();
  expect(await isPending(next)).toBe(false);
  expect(asked).toBe(2);
});

it('takes an answer that comes at once', async () => {
  const lockstep: Lockstep = new Lockstep(() => lockstep.release());
  lockstep.spoke();
  expect(await isPending(lockstep.catchUp())).toBe(false);
});

it('without a run to ask waits for nothing', async () => {
  const lockstep = new Lockstep(null);
  lockstep.spoke();
  expect(await isPending(lockstep.catchUp())).toBe(false);
});
