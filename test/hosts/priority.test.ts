import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, it } from 'vitest';
import { hostSpecSchema } from '../../src/domain/host.ts';
import { spawnChild } from '../../src/hosts/spawn.ts';

it.runIf(process.platform === 'linux')('a child on this machine gives way', async () => {
  const host = hostSpecSchema.parse({ name: 'here', command: 'cat #' });
  const child = spawnChild(host, 'worker', { onStderrLine: () => undefined, nice: 5 });
  const { pid } = child;
  expect(pid).not.toBeNull();
  expect(getPriority(pid ?? 0)).toBe(5);
  child.stdin.end();
  await child.exited;
  // Of one that is gone nothing can be changed, and nothing is said.
  expect(() => readFileSync(`/proc/${pid}/stat`)).toThrow('ENOENT');
});
