import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';
import { LabError, systemErrorCode } from '../domain/error.ts';
import { storeError } from './store-error.ts';

/** Who holds a run. `started` tells a process from a later one with the same pid; null where the system cannot say. */
const lockOwnerSchema = z.object({
  pid: z.int().positive(),
  host: z.string(),
  started: z.string().nullable(),
});
type LockOwner = Readonly<z.infer<typeof lockOwnerSchema>>;

const TAKEOVER_ATTEMPTS = 5;

/** The right to write a run directory. */
export interface RunLock {
  /** Gives it up. Harmless when it was lost meanwhile, or called twice. */
  release(): void;
}

/**
 * Takes the lock file, which holds pid, host and start time of its owner. One left behind by a process of this host that
 * is dead is taken over. Throws `run-locked`, naming the owner.
 */
export function takeLock(path: string): RunLock {
  const content = JSON.stringify({ pid: process.pid, host: hostname(), started: startOf(process.pid) });
  for (let attempt = 0; attempt < TAKEOVER_ATTEMPTS; attempt++) {
    if (createWhole(path, content)) {
      return {
        release: () => {
          if (readIfThere(path) === content) rmSync(path, { force: true });
        },
      };
    }
    const found = readIfThere(path);
    if (found === null) continue;
    const owner = parseOwner(found);
    if (owner !== null && isAlive(owner)) throw locked(path, owner);
    removeStale(path, found);
  }
  throw new LabError('run-locked', {
    message: `${path} keeps being taken by others`,
    hint: 'another agentrl-lab is starting on this run: wait for it, or pick another run id',
  });
}

/** Whether the lock's owner still runs. An owner on another host counts as running: nobody here can tell. */
export function isLockHeld(path: string): boolean {
  const content = readIfThere(path);
  if (content === null) return false;
  const owner = parseOwner(content);
  return owner !== null && isAlive(owner);
}

/** Creates the file with its content in one step, so that nobody reads an empty lock. False when it exists. */
function createWhole(path: string, content: string): boolean {
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, content);
    linkSync(temporary, path);
    return true;
  } catch (thrown) {
    if (systemErrorCode(thrown) === 'EEXIST') return false;
    throw storeError(thrown, 'lock the run', path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Moves a stale lock away, and back if another process had replaced it in the meantime. */
function removeStale(path: string, stale: string): void {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
    if (readIfThere(aside) !== stale) linkSync(aside, path);
  } catch (thrown) {
    const code = systemErrorCode(thrown);
    if (code !== 'ENOENT' && code !== 'EEXIST') throw storeError(thrown, 'take over the lock', path);
  } finally {
    rmSync(aside, { force: true });
  }
}

function locked(path: string, owner: LockOwner): LabError {
  const here = owner.host === hostname();
  return new LabError('run-locked', {
    message: `the run is in use by process ${owner.pid} on ${owner.host} (${path})`,
    hint: here
      ? 'attach to it, or stop it first'
      : `stop it on ${owner.host}; if that machine is gone, delete the lock file`,
  });
}

function isAlive(owner: LockOwner): boolean {
  if (owner.host !== hostname()) return true;
  // Where the system can say, its word is final: a zombie, which has ended, still takes signals.
  if (owner.started !== null && startOf(process.pid) !== null) return startOf(owner.pid) === owner.started;
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (thrown) {
    return systemErrorCode(thrown) === 'EPERM';
  }
}

/** Boot id and start time in clock ticks after boot (field 22 of /proc/PID/stat); null without such a process or /proc. */
function startOf(pid: number): string | null {
  const stat = readIfThere(`/proc/${pid}/stat`);
  const boot = readIfThere('/proc/sys/kernel/random/boot_id');
  if (stat === null || boot === null) return null;
  // The name, field 2, may hold spaces and brackets: count from its last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, ticks] = [fields[0], fields[19]];
  // A zombie has ended, though its parent has not yet asked.
  if (ticks === undefined || state === 'Z' || state === 'X') return null;
  return `${boot.trim()}:${ticks}`;
}

function parseOwner(content: string): LockOwner | null {
  try {
    return lockOwnerSchema.parse(JSON.parse(content));
  } catch {
    // A lock that nobody can read has no owner that could be asked.
    return null;
  }
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    const code = systemErrorCode(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ESRCH') return null;
    throw storeError(thrown, 'read', path);
  }
}
