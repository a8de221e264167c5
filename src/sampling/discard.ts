import type { Environment } from '../../envs/contract.ts';
import type { SlotDirectory } from './temp-directories.ts';

/** How long a broken environment may take to close before its directory is removed all the same, ms. */
const CLOSE_GRACE_MS = 5000;

/** Closes an environment and removes what it has. Whatever a broken one says meanwhile is of no more interest. */
export async function discard(
  environment: Environment | null,
  directory: SlotDirectory | undefined,
): Promise<void> {
  try {
    const timer = new Promise<void>((resolve) => {
      setTimeout(resolve, CLOSE_GRACE_MS).unref();
    });
    await Promise.race([environment?.close(), timer]);
  } catch {
    // It is given up already.
  }
  await directory?.remove();
}
