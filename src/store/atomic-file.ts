import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { storeError } from './store-error.ts';

/**
 * Replaces a file as a whole: readers, and a crash at any moment, see the old content or the new one and nothing
 * between. Throws `disk-full` or `run-unwritable`; the old file is then untouched.
 */
export function writeFileAtomic(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    const file = openSync(temporary, 'w');
    try {
      writeFileSync(file, content);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
    syncDirectory(dirname(path));
  } catch (thrown) {
    rmSync(temporary, { force: true });
    throw storeError(thrown, 'write', path);
  }
}

/** Makes names created, renamed or removed in a directory survive a power failure. */
export function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
