import { createHash } from 'node:crypto';
import { stableJson } from '../src/domain/stable-json.ts';
import type { Environment } from './contract.ts';

/** Hex digits kept: 64 bits, so that two of a million states are the same by chance once in 10^7 runs. */
const DIGITS = 16;

/** Short SHA-256 of an environment's state, hex; undefined where the state cannot be had, or is not plain JSON. */
export function stateHash(environment: Pick<Environment, 'getState'>): string | undefined {
  try {
    const json = stableJson(environment.getState());
    return createHash('sha256').update(json).digest('hex').slice(0, DIGITS);
  } catch {
    return undefined;
  }
}
