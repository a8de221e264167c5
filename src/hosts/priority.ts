import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { systemErrorCode } from '../domain/error.ts';

/** Linux takes one change in a tenth of a second of all users but root. */
const AGAIN_MS = 150;
const MOST_TRIES = 20;

/**
 * Lowers the priority of a process of this machine to so many steps of `nice`, from 0 to 19; to be called before it has threads, which
 * are born with the priority that it has then. With `isLeader` it is the first of a session of its own: Linux weighs sessions
 * and not processes where autogroups are on (sched(7)), so that session's weight is lowered as well. Where it is gone already, or the system
 * does not let us, nothing happens.
 */
export function lowerPriority(pid: number, nice: number, isLeader = false): void {
  if (nice === 0) return;
  try {
    setPriority(pid, nice);
  } catch {
    return;
  }
  if (isLeader && process.platform === 'linux') lowerSession(pid, nice, MOST_TRIES);
}

function lowerSession(pid: number, nice: number, tries: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(nice));
  } catch (thrown) {
    if (systemErrorCode(thrown) !== 'EAGAIN' || tries === 0) return;
    setTimeout(() => lowerSession(pid, nice, tries - 1), AGAIN_MS).unref();
  }
}
