import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { hostSpecSchema } from '../../src/domain/host.ts';
import type { Child } from '../../src/hosts/host.ts';
import { spawnChild } from '../../src/hosts/spawn.ts';

const directory = mkdtempSync(join(tmpdir(), 'agentrl-spawn-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A child on this machine that runs a script of ours. */
function script(name: string, text: string): { child: Child; lines: string[] } {
  const file = join(directory, name);
  writeFileSync(file, text);
  const lines: string[] = [];
  const host = hostSpecSchema.parse({ name: 'here', command: `'${process.execPath}' '${file}'` });
  const child = spawnChild(host, 'worker', {
    onStderrLine: (line) => lines.push(line),
    env: { AGENTRL_TEST: 'yes' },
  });
  return { child, lines };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A zombie whose parent has not asked yet is dead.
  return !/^\d+ \(.*\) Z/u.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

async function untilDead(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(10);
}

it('bytes go both ways unchanged, and a peaceful end is no error', async () => {
  const { child, lines } = script('echo.cjs', 'process.stdin.pipe(process.stdout)');
  const sent = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 256));
  const received: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => received.push(chunk));
  child.stdin.end(sent);
  expect(await child.exited).toEqual({ code: 0, signal: null, error: null });
  expect(Buffer.concat(received).equals(sent)).toBe(true);
  expect(lines).toEqual([]);
});

it('the child is told its verb and gets the environment', async () => {
  const { child } = script(
    'verb.cjs',
    'process.stdout.write(process.argv[2] + " " + process.env.AGENTRL_TEST)',
  );
  const received: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => received.push(chunk));
  await child.exited;
  expect(Buffer.concat(received).toString()).toBe('worker-process yes');
});

it('a failing child is an error with its code and last line; all lines are handed on', async () => {
  const { child, lines } = script('fail.cjs', 'console.error("one\\ntwo"); process.exitCode = 3');
  child.stdout.resume();
  const { code, error } = await child.exited;
  expect(code).toBe(3);
  expect(error?.code).toBe('child-failed');
  expect(error?.message).toBe('the worker on host here ended with code 3; last line: two');
  expect(lines).toEqual(['one', 'two']);
});

it('a child that throws is an error with what it threw, not with the end of its stack', async () => {
  const { child } = script('throw.cjs', 'throw Object.assign(new TypeError("no such tool"), { code: "E" })');
  child.stdout.resume();
  expect((await child.exited).error?.message).toBe(
    'the worker on host here ended with code 1; last line: TypeError: no such tool',
  );
});

it('kill takes the whole process group, and a wanted end is no error', async () => {
  const { child } = script(
    'group.cjs',
    `const { spawn } = require('node:child_process');
     const inner = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
     process.stdout.write(String(inner.pid));
     for (;;);`,
  );
  const pid = Number(await new Promise((resolve) => child.stdout.once('data', resolve)));
  expect(isAlive(pid)).toBe(true);
  child.kill();
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL', error: null });
  await untilDead(pid);
});

it('a child that dies takes what it started with it, even when that holds its pipes', async () => {
  const { child } = script(
    'orphan.cjs',
    `const { spawn } = require('node:child_process');
     const inner = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
     process.stdout.write(String(inner.pid), () => process.kill(process.pid, 'SIGKILL'));`,
  );
  const pid = Number(await new Promise((resolve) => child.stdout.once('data', resolve)));
  const { error } = await child.exited;
  expect(error?.message).toBe('the worker on host here was killed by SIGKILL; it said nothing');
  await untilDead(pid);
});

it('pipes that a grandchild outside the group holds open do not keep the end from being noticed', async () => {
  const { child } = script(
    'setsid.cjs',
    `const { spawn } = require('node:child_process');
     const inner = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit', detached: true });
     inner.unref();
     process.stdout.write(String(inner.pid), () => process.exit(1));`,
  );
  const pid = Number(await new Promise((resolve) => child.stdout.once('data', resolve)));
  expect((await child.exited).code).toBe(1);
  process.kill(pid, 'SIGKILL');
});

it('a command that does not exist says what to do', async () => {
  const host = hostSpecSchema.parse({ name: 'here', command: 'no-such-lab' });
  const child = spawnChild(host, 'trainer', { onStderrLine: () => {} });
  child.stdout.resume();
  const { error } = await child.exited;
  expect(error?.code).toBe('child-failed');
  expect(error?.message).toMatch(
    /^host here cannot run "no-such-lab" for its trainer: last line: .*not found$/u,
  );
  expect(error?.hint).toContain('set command of this host');
});

it('a program that cannot be started is reported in the same way as one that died', async () => {
  const path = process.env['PATH'];
  process.env['PATH'] = directory;
  const host = hostSpecSchema.parse({ name: 'far', ssh: 'nowhere' });
  const child = spawnChild(host, 'worker', { onStderrLine: () => {} });
  process.env['PATH'] = path;
  const { error } = await child.exited;
  expect(child.pid).toBe(null);
  expect(error?.message).toMatch(/^ssh for host far could not be started: .*ENOENT/u);
});
