import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errorText, LabError } from '../domain/error.ts';
import { CHECKPOINT_FORMAT, listCheckpoints } from './checkpoint.ts';

/** A policy whose weights are kept. */
export interface KeptPolicy {
  readonly version: number;
  /** Little-endian float32, trainer/policy's order. Throws `checkpoint-corrupt`, or `checkpoint-missing` when it has gone since. */
  readonly load: () => Uint8Array;
}

const NAME = /^v(\d{8})-([0-9a-f]{16})\.f32$/u;
/** What is looked at of a checkpoint. */
const stateSchema = z.looseObject({
  /** Weights of another format would act otherwise than they did, and be taken for a drift. */
  format: z.literal(CHECKPOINT_FORMAT),
  trainer: z.looseObject({ policyVersion: z.int().nonnegative() }),
  files: z.looseObject({ weights: z.looseObject({ sha256: z.string() }) }),
});

/**
 * Keeps the weights of a policy alone, beside the checkpoints, and removes all but the newest `keep`. Not forced to the disk: of
 * what a power failure tears the checksum in its name says so.
 */
export function keepPolicy(checkpoints: string, version: number, weights: Uint8Array, keep: number): void {
  const shelf = shelfOf(checkpoints);
  mkdirSync(shelf, { recursive: true });
  const name = `v${String(version).padStart(8, '0')}-${shortHash(weights)}.f32`;
  const temporary = join(shelf, `.${name}.tmp`);
  writeFileSync(temporary, weights);
  renameSync(temporary, join(shelf, name));
  // A resumed run comes to the same version with other weights: the older ones are no longer its.
  const others = shelved(shelf).filter((other) => other !== name && other.startsWith(name.slice(0, 10)));
  for (const old of [...others, ...shelved(shelf).slice(keep)]) rmSync(join(shelf, old), { force: true });
}

/** Policies whose weights are kept, by themselves or in a checkpoint, the newest version first; each version once. */
export function listPolicies(checkpoints: string): KeptPolicy[] {
  const found = new Map<number, KeptPolicy>();
  const shelf = shelfOf(checkpoints);
  for (const name of shelved(shelf)) {
    const [, version, hash = ''] = NAME.exec(name) ?? [];
    found.set(Number(version), { version: Number(version), load: () => read(join(shelf, name), hash) });
  }
  for (const name of listCheckpoints(checkpoints)) {
    const kept = inCheckpoint(join(checkpoints, name));
    if (kept !== null && !found.has(kept.version)) found.set(kept.version, kept);
  }
  return [...found.values()].toSorted((a, b) => b.version - a.version);
}

function shelfOf(checkpoints: string): string {
  return join(checkpoints, 'policies');
}

/** Names of what is there, the newest version first. */
function shelved(shelf: string): string[] {
  try {
    return readdirSync(shelf)
      .filter((name) => NAME.test(name))
      .toSorted()
      .toReversed();
  } catch {
    return [];
  }
}

/** Null for one that is damaged, of another format, or was removed meanwhile: others may do. */
function inCheckpoint(path: string): KeptPolicy | null {
  try {
    const { trainer, files } = stateSchema.parse(JSON.parse(readFileSync(join(path, 'state.json'), 'utf8')));
    return {
      version: trainer.policyVersion,
      load: () => read(join(path, 'weights.f32'), files.weights.sha256),
    };
  } catch {
    return null;
  }
}

function read(path: string, hash: string): Uint8Array {
  let weights: Uint8Array;
  try {
    weights = readFileSync(path);
  } catch (thrown) {
    throw new LabError('checkpoint-missing', {
      message: `the weights of a policy cannot be read: ${errorText(thrown)}`,
      hint: 'a live run removes old ones: try again',
      cause: thrown,
    });
  }
  if (shortHash(weights) === hash.slice(0, 16)) return weights;
  throw new LabError('checkpoint-corrupt', { message: `${path} is damaged: its checksum does not match` });
}

function shortHash(weights: Uint8Array): string {
  return createHash('sha256').update(weights).digest('hex').slice(0, 16);
}
