import { basename, dirname } from 'node:path';
import { z } from 'zod';
import { errorText, LabError, systemErrorCode } from '../domain/error.ts';

/** What the run was doing, for the first words of the message: `write segment 000001.seg`. */
type Deed = string;

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'SQLITE_FULL', 'SQLITE_IOERR_SHMSIZE']);
const UNWRITABLE = new Set(['EROFS', 'EACCES', 'EPERM', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ENOENT']);

/** Why something was refused, in one line: the first thing that zod found, or the message of anything else. */
export function reasonText(thrown: unknown): string {
  const issue = thrown instanceof z.ZodError ? thrown.issues[0] : undefined;
  return issue === undefined ? errorText(thrown) : `${issue.path.join('.') || 'all of it'}: ${issue.message}`;
}

/** Whether SQLite says that the database file itself is damaged. */
export function isDamagedDatabase(thrown: unknown): boolean {
  const code = systemErrorCode(thrown) ?? '';
  return code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB' || code === 'SQLITE_IOERR_SHORT_READ';
}

/** The command that rebuilds an index, of the run whose directory the database is in. */
export function repairCommand(database: string): string {
  return `agentrl-lab fsck ${basename(dirname(database))} --repair`;
}

/**
 * The error to show for a failed write to a run directory: `disk-full`, `run-unwritable`, or `store-failed` for anything
 * else. A `LabError` is returned as it is.
 */
export function storeError(thrown: unknown, deed: Deed, path: string): LabError {
  if (thrown instanceof LabError) return thrown;
  const code = systemErrorCode(thrown) ?? '';
  const message = `could not ${deed} (${path}): ${reasonText(thrown)}`;
  if (FULL.has(code)) {
    return new LabError('disk-full', {
      message,
      hint: 'free space on that file system, then resume; nothing half-written was kept',
      cause: thrown,
    });
  }
  if (UNWRITABLE.has(code) || code.startsWith('SQLITE_READONLY') || code === 'SQLITE_CANTOPEN') {
    return new LabError('run-unwritable', {
      message,
      hint: 'check that the path is a directory on a writable file system and belongs to you',
      cause: thrown,
    });
  }
  return new LabError('store-failed', {
    message,
    hint: isDamagedDatabase(thrown)
      ? `rebuild the index from the segments with: ${repairCommand(path)}`
      : 'if it happens again, check the run directory with: agentrl-lab fsck',
    cause: thrown,
  });
}
