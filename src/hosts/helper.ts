import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { type EntryName, entryCommand } from './entries.ts';
import { readLines } from './lines.ts';
import { lowerPriority } from './priority.ts';
import { MAX_LINE } from './spawn.ts';

/** A process of the lab's own on this machine that nothing depends on. It ends when its stdin is closed. */
export interface Helper {
  /** Undefined when it could not be started. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves once, when it has ended and its last words are read, with how it ended. Never rejects. */
  readonly ended: Promise<string>;
  kill(): void;
}

/** Starts a helper at the lowest priority. */
export function spawnHelper(entry: EntryName, onStderrLine: (line: string) => void): Helper {
  const [program, ...args] = entryCommand(entry);
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  if (child.pid !== undefined) lowerPriority(child.pid, constants.priority.PRIORITY_LOW);
  readLines(child.stderr, MAX_LINE, onStderrLine);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`it could not be started: ${error.message}`));
    // Not 'exit': what it said may still be on its way.
    child.once('close', (code, signal) => resolve(`its process ended with ${signal ?? `code ${code}`}`));
  });
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    ended,
    kill: () => void child.kill('SIGKILL'),
  };
}
