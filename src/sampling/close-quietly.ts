import type { Environment } from '../../envs/contract.ts';

/** Closes an environment that is given up: whatever it says meanwhile is of no more interest. */
export async function closeQuietly(environment: Environment): Promise<void> {
  try {
    await environment.close();
  } catch {
    // It is given up already.
  }
}
