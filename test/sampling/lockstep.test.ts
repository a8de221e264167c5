import { expect, it, vi } from 'vitest';
import { workbench } from '../../envs/workbench/definition.ts';
import { DEFAULT_REWARDS } from '../../src/domain/default-rewards.ts';
import { policySpecSchema } from '../../src/domain/policy-spec.ts';
import { Lockstep } from '../../src/sampling/lockstep.ts';
import { SamplingWorker } from '../../src/sampling/worker.ts';
import { settingsOf } from '../support/worker-settings.ts';

async function settle(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Whether it is still pending after everything else that is due. */
async function isPending(promise: Promise<void>): Promise<boolean> {
  let done = false;
  void promise.then(() => (done = true));
  await settle();
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

it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
  'a worker that is let go %i turns after it was woken asks for episodes, and waits for them',
  { timeout: 5000 },
  async (turns) => {
    const said: string[] = [];
    const worker = await SamplingWorker.create({
      settings: settingsOf({
        env: { name: 'workbench', options: {} },
        slots: 4,
        slice: 4,
        policy: policySpecSchema.parse({}),
        actor: 'random',
        rewards: DEFAULT_REWARDS,
        maxSteps: 5,
        episodeTimeoutMs: 5000,
        unackedBytes: 1 << 20,
        lockstep: true,
      }),
      definition: workbench,
      lifeline: { begin: () => undefined, end: () => undefined },
      send: ({ type }) => said.push(type),
    });
    await settle();
    worker.ack(0);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    worker.go();
    await vi.waitUntil(() => said.length >= 2, { timeout: 4000 });
    await settle();
    expect(said).toEqual(['claim', 'sync']);
    // Nobody answers: it must end all the same.
    await worker.stop();
    expect(said).toEqual(['claim', 'sync']);
  },
);
