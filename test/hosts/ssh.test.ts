import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hostSpecSchema } from '../../src/domain/host.ts';
import { LAB_VERSION } from '../../src/domain/lab-version.ts';
import type { Child } from '../../src/hosts/host.ts';
import { spawnChild } from '../../src/hosts/spawn.ts';
import { FrameReader } from '../../src/protocol/frame.ts';
import { sshdMissing, startSshd, type TestSshd } from '../support/sshd.ts';

const missing = sshdMissing();
const cli = join(import.meta.dirname, '../../dist/src/cli/main.js');
const lifeline = join(import.meta.dirname, '../../dist/src/protocol/lifeline.js');

async function firstData(from: Child): Promise<string> {
  return String(await new Promise((resolve) => from.stdout.once('data', resolve)));
}

async function untilDead(pid: number): Promise<void> {
  for (;;) {
    try {
      if (/^\d+ \(.*\) Z/u.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) return;
    } catch {
      return;
    }
    await sleep(20);
  }
}

describe.skipIf(missing !== null)(`children over ssh${missing === null ? '' : ` (${missing})`}`, () => {
  let sshd: TestSshd;
  let directory: string;
  let child: Child | null = null;
  const lines: string[] = [];

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'agentrl-ssh-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  beforeEach(async () => {
    lines.length = 0;
    sshd = await startSshd();
  });
  afterEach(async () => {
    child?.kill();
    await sshd.close();
  });

  function start(command: string, options: readonly string[] = sshd.options): Child {
    const host = hostSpecSchema.parse({ name: 'far', ssh: sshd.target, sshOptions: options, command });
    const started = spawnChild(host, 'worker', { onStderrLine: (line) => lines.push(line) });
    child = started;
    return started;
  }

  function script(name: string, text: string): string {
    const file = join(directory, name);
    writeFileSync(file, text);
    return `'${process.execPath}' '${file}'`;
  }

  it('binary data goes both ways unchanged, and the verb comes last', async () => {
    const echo = start(
      script('echo.cjs', 'process.stdin.pipe(process.stdout); console.error(process.argv[2])'),
    );
    const sent = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256));
    const received: Buffer[] = [];
    echo.stdout.on('data', (chunk: Buffer) => received.push(chunk));
    echo.stdin.end(sent);
    expect(await echo.exited).toEqual({ code: 0, signal: null, error: null });
    expect(Buffer.concat(received).equals(sent)).toBe(true);
    expect(lines).toContain('worker-process');
  });

  it('the real worker says hello through the hidden verb of the command', async () => {
    const worker = start(`'${process.execPath}' '${cli}'`);
    const hello = await new Promise<unknown>((resolve) => {
      const reader = new FrameReader();
      worker.stdout.on('data', (chunk: Buffer) => {
        const [frame] = reader.push(chunk);
        if (frame !== undefined) resolve(frame.message);
      });
    });
    expect(hello).toMatchObject({ type: 'hello', version: LAB_VERSION });
    worker.stdin.end();
    expect((await worker.exited).code).toBe(0);
  });

  it('killing the child here ends the spinning process there', async () => {
    const spin = start(
      script(
        'spin.mjs',
        `import { startLifeline } from ${JSON.stringify(lifeline)};
         startLifeline({ limitMs: 60000 });
         process.stdout.write(String(process.pid), () => { setTimeout(() => { for (;;); }, 200); });`,
      ),
    );
    const pid = Number(await firstData(spin));
    await sleep(300);
    spin.kill();
    expect((await spin.exited).error).toBe(null);
    await untilDead(pid);
  });

  it('a process that is killed over there is told from a link that fails', async () => {
    const dying = start(
      script('die.cjs', 'process.stdout.write("x", () => process.kill(process.pid, "SIGKILL"))'),
    );
    dying.stdout.resume();
    const { error } = await dying.exited;
    expect(error?.code).toBe('child-failed');
    expect(error?.message).toContain('the worker on host far was killed, or its link broke off');
  });

  it('a broken link is a host that cannot be reached, with the last line of ssh', async () => {
    const idle = start(script('idle.cjs', 'process.stdin.resume(); process.stdout.write("up")'));
    await firstData(idle);
    await sshd.close();
    const { error } = await idle.exited;
    expect(error?.code).toBe('host-unreachable');
    expect(error?.message).toMatch(/^host far \(\S+@127\.0\.0\.1\) cannot be reached by ssh: last line: .+/u);
  });

  it('nobody listening, and a key that is not accepted, name the reason and a way to try', async () => {
    const closed = start('true', ['-F', 'none', '-p', '1']);
    closed.stdout.resume();
    const refused = (await closed.exited).error;
    expect(refused?.code).toBe('host-unreachable');
    expect(refused?.message).toContain('Connection refused');
    expect(refused?.hint).toMatch(
      /without a password or a question: ssh -F none -p 1 \S+@127\.0\.0\.1 true$/u,
    );

    const known = sshd.options.filter((option) => !option.startsWith('-i'));
    const stranger = start('true', [...known, '-o', 'IdentityFile=/dev/null', '-o', 'IdentityAgent=none']);
    stranger.stdout.resume();
    const denied = (await stranger.exited).error;
    expect(denied?.code).toBe('host-unreachable');
    expect(denied?.message).toContain('Permission denied');
  });

  it('a lab that is not installed there says so', async () => {
    const absent = start('no-such-lab');
    absent.stdout.resume();
    const { error } = await absent.exited;
    expect(error?.code).toBe('child-failed');
    expect(error?.message).toContain('host far cannot run "no-such-lab" for its worker');
  });
});
