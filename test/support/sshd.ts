import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const SSHD = '/usr/sbin/sshd';

/** A real sshd on this machine, with its own keys, in a temporary directory. */
export interface TestSshd {
  /** `user@127.0.0.1`. */
  readonly target: string;
  readonly port: number;
  /** Arguments of ssh with which it lets us in. */
  readonly options: readonly string[];
  readonly directory: string;
  /** Ends the server and every session of it, as a lost link does. */
  close(): Promise<void>;
}

/** Why there can be no sshd here, or null. In CI a missing one is a failure, not a reason to skip. */
export function sshdMissing(): string | null {
  if (existsSync(SSHD)) return null;
  if (process.env['CI']) throw new Error(`${SSHD} is missing: apt-get install openssh-server`);
  return `${SSHD} is missing`;
}

/** Starts sshd on a free port of the loopback. */
export async function startSshd(): Promise<TestSshd> {
  const directory = mkdtempSync(join(tmpdir(), 'agentrl-sshd-'));
  const path = (name: string): string => join(directory, name);
  for (const name of ['host_key', 'user_key']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path(name)]);
  }
  const port = await freePort();
  writeFileSync(path('authorized_keys'), readFileSync(path('user_key.pub')));
  writeFileSync(path('known_hosts'), `[127.0.0.1]:${port} ${readFileSync(path('host_key.pub'), 'utf8')}`);
  writeFileSync(
    path('sshd_config'),
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${path('host_key')}`,
      `AuthorizedKeysFile ${path('authorized_keys')}`,
      'PidFile none',
      'UsePAM no',
      'StrictModes no',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'PermitRootLogin yes',
      '',
    ].join('\n'),
  );
  // Privilege separation wants it when sshd runs as root.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true });
  const server = spawn(SSHD, ['-D', '-e', '-f', path('sshd_config')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  server.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  await waitForPort(port, () => (server.exitCode === null ? null : log));
  const exited = once(server, 'exit');
  return {
    target: `${userInfo().username}@127.0.0.1`,
    port,
    options: [
      '-Fnone',
      `-i${path('user_key')}`,
      `-p${port}`,
      `-oUserKnownHostsFile=${path('known_hosts')}`,
      '-oStrictHostKeyChecking=yes',
      '-oIdentitiesOnly=yes',
    ],
    directory,
    close: async () => {
      for (const pid of sessionsOf(server.pid)) kill(pid);
      server.kill('SIGKILL');
      await exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The processes that sshd made for its sessions, and those that these made. */
function sessionsOf(server: number | undefined): number[] {
  const table = execFileSync('ps', ['-eo', 'pid=,ppid=,comm='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/u));
  const found = new Set([server]);
  for (let grew = true; grew; ) {
    grew = false;
    for (const [pid, parent, name] of table) {
      if (!name!.startsWith('sshd') || found.has(Number(pid)) || !found.has(Number(parent))) continue;
      found.add(Number(pid));
      grew = true;
    }
  }
  found.delete(server);
  return [...found].filter((pid) => pid !== undefined);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone meanwhile.
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function waitForPort(port: number, failed: () => string | null): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const log = failed();
    if (log !== null) throw new Error(`sshd ended: ${log}`);
    const open = await new Promise<boolean>((resolve) => {
      const socket = createConnection(port, '127.0.0.1');
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
      socket.once('close', () => socket.destroy());
      setTimeout(() => socket.destroy(), 1000).unref();
    });
    if (open) return;
    await sleep(25);
  }
  throw new Error('sshd does not listen');
}
