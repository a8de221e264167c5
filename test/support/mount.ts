import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Why no file system can be mounted here, or null. In CI that is a failure, not a reason to skip. */
export function mountMissing(): string | null {
  const directory = mkdtempSync(join(tmpdir(), 'agentrl-mount-'));
  try {
    mountSmall(directory, 1);
    unmount(directory);
    return null;
  } catch (thrown) {
    if (process.env['CI']) throw new Error('a tmpfs must be mountable: run as root', { cause: thrown });
    return 'only root can mount a small file system';
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Mounts a file system in memory that is full after so many MiB. */
export function mountSmall(directory: string, mebibytes: number): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', directory], { stdio: 'ignore' });
}

export function unmount(directory: string): void {
  execFileSync('umount', ['-l', directory]);
}
