import type { Readable, Writable } from 'node:stream';
import type { LabError } from '../domain/error.ts';

export interface ChildExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it ended, when nobody here wanted it to: `host-unreachable` or `child-failed`. */
  readonly error: LabError | null;
}

/** A worker or trainer process, here or on another machine: in the latter case this is the ssh that carries it. */
export interface Child {
  /** Process id on this machine, which is also its process group; null when it could not be started. */
  readonly pid: number | null;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves once, when the process has ended and its last words are read. Never rejects. */
  readonly exited: Promise<ChildExit>;
  /** Kills the whole process group at once. Over ssh, the remote side ends because its link does. */
  kill(): void;
}
