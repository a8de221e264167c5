import type { Readable } from 'node:stream';
import { execa } from 'execa';
import { systemErrorCode } from '../domain/error.ts';
import type { HostRole, HostSpec } from '../domain/host.ts';
import { parseLifelineNews } from '../protocol/lifeline.ts';
import { childCommand } from './command.ts';
import { type ChildEnd, explainEnd } from './explain-end.ts';
import type { Child, ChildExit } from './host.ts';
import { readLines } from './lines.ts';
import { lowerPriority } from './priority.ts';

export interface SpawnOptions {
  /** Each non-empty line that the child, or ssh, writes on stderr, cut to MAX_LINE characters. */
  readonly onStderrLine: (line: string) => void;
  /** Environment variables on top of ours. They do not travel over ssh. */
  readonly env?: Readonly<Record<string, string>>;
  /** Steps of `nice` by which it is less urgent than others on this machine, from 0 to 19. They do not travel over ssh. */
  readonly nice?: number;
}

export const MAX_LINE = 4096;
/** What Node prints around the message of an error that ends it: stack, details, its own version. */
const NODE_TRACE = /^(?:\s|\}|Node\.js v)/u;
/** Pipes that a runaway grandchild holds open are closed so long after the process has ended. */
const PIPE_GRACE_MS = 1000;

type Subprocess = ReturnType<typeof startProcess>;
type Ending = Pick<ChildEnd, 'code' | 'signal' | 'startError'>;

/** Starts a child of a run on a host. That it could not be started is reported through `exited`, too. */
export function spawnChild(host: HostSpec, entry: HostRole, options: SpawnOptions): Child {
  const subprocess = startProcess(childCommand(host, entry), options.env ?? {});
  const { pid = null } = subprocess;
  if (pid !== null && host.ssh === null) lowerPriority(pid, options.nice ?? 0, true);
  let killed = false;
  let ended = false;
  let lastLine: string | null = null;
  readLines(subprocess.stderr, MAX_LINE, (line) => {
    // Neither is the child's own last word: what Node says of itself, and what its watching thread says to us.
    if (!NODE_TRACE.test(line) && parseLifelineNews(line) === null) lastLine = line;
    options.onStderrLine(line);
  });
  const wait = async (): Promise<ChildExit> => {
    const ending = await waitForEnd(subprocess);
    ended = true;
    // What it started must not outlive it.
    killGroup(pid);
    await waitForLastWords(subprocess);
    const answered = bytesRead(subprocess.stdout) > 0;
    const error = killed ? null : explainEnd(host, entry, { ...ending, lastLine, answered });
    return { code: ending.code, signal: ending.signal, error };
  };
  return {
    pid,
    stdin: subprocess.stdin,
    stdout: subprocess.stdout,
    exited: wait(),
    kill: () => {
      killed = true;
      // Once it is reaped, its number may belong to somebody else.
      if (!ended) killGroup(pid);
    },
  };
}

function startProcess(
  [file, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
) {
  return execa(file, args, {
    // The output is ours to read; execa must not keep it as well.
    buffer: false,
    reject: false,
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
    // A process group of its own, so that it can be killed with all it started.
    detached: true,
    cleanup: false,
    env: { ...env },
  });
}

async function waitForEnd(subprocess: Subprocess): Promise<Ending> {
  return await new Promise((resolve) => {
    subprocess.once('exit', (code, signal) => resolve({ code, signal, startError: null }));
    subprocess.once('error', (error) => resolve({ code: null, signal: null, startError: error }));
    // The only news when the system refuses at once, as for arguments that are too long.
    void subprocess.then((result) => {
      const startError = result instanceof Error ? (result.cause ?? result) : null;
      return resolve({ code: null, signal: null, startError });
    });
  });
}

async function waitForLastWords({ stdout, stderr }: Subprocess): Promise<void> {
  setTimeout(() => stdout.destroy(), PIPE_GRACE_MS).unref();
  if (stderr.closed) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => stderr.destroy(), PIPE_GRACE_MS);
    stderr.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function killGroup(pid: number | null): void {
  if (pid === null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (thrown) {
    // Gone already; macOS says EPERM of a group of zombies.
    const code = systemErrorCode(thrown);
    if (code !== 'ESRCH' && code !== 'EPERM') throw thrown;
  }
}

/** Bytes that a pipe has delivered; asking does not start it flowing. */
function bytesRead(stream: Readable): number {
  return 'bytesRead' in stream && typeof stream.bytesRead === 'number' ? stream.bytesRead : 0;
}
