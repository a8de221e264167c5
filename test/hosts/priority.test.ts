import { existsSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { hostSpecSchema } from '../../src/domain/host.ts';
import { spawnChild } from '../../src/hosts/spawn.ts';

const HERE = hostSpecSchema.parse({ name: 'here', command: 'cat #' });

it.runIf(existsSync('/proc/self/autogroup'))(
  'a child on this machine gives way, and so does its session',
  async () => {
    const child = spawnChild(HERE, 'worker', { onStderrLine: () => undefined, nice: 5 });
    const pid = child.pid ?? 0;
    expect(getPriority(pid)).toBe(5);
    // Of users other than root the system may want it again a little later.
    while (!readFileSync(`/proc/${pid}/autogroup`, 'utf8').endsWith('nice 5\n')) await sleep(20);
    child.stdin.end();
    expect(await child.exited).toMatchObject({ code: 0, error: null });
  },
);

it('one that is not told to stays as urgent as we are', async () => {
  const child = spawnChild(HERE, 'worker', { onStderrLine: () => undefined });
  expect(getPriority(child.pid ?? 0)).toBe(getPriority());
  child.stdin.end();
  await child.exited;
});
