import {
  accessSync,
  closeSync,
  constants,
  type Dirent,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { errorText, LabError, systemErrorCode } from '../domain/error.ts';
import { runIdSchema } from '../domain/id.ts';
import { nearestNames } from '../domain/nearest.ts';
import { RUN_FORMAT, type RunManifest, runManifestSchema } from '../domain/run.ts';
import { writeFileAtomic } from './atomic-file.ts';
import { isLockHeld, type RunLock, takeLock } from './run-lock.ts';
import { reasonText, storeError } from './store-error.ts';

/** Where everything of a run stands. */
export interface RunPaths {
  readonly root: string;
  readonly manifest: string;
  readonly config: string;
  readonly lock: string;
  readonly database: string;
  readonly text: string;
  readonly segments: string;
  readonly checkpoints: string;
  readonly logs: string;
}

/** One directory among the runs. `manifest` is null, and `error` says why, when it cannot be read. */
export interface RunListing {
  readonly id: string;
  readonly paths: RunPaths;
  readonly manifest: RunManifest | null;
  readonly error: string | null;
  /** A process holds its lock. */
  readonly live: boolean;
}

/** The paths of a run. Throws `usage` for an id that could leave the runs directory. */
export function runPaths(runsDirectory: string, id: string): RunPaths {
  if (!runIdSchema.safeParse(id).success) {
    throw new LabError('usage', {
      message: `"${id}" is no run id: it takes letters, digits, - and _, at most 64, beginning with a letter or digit`,
      hint: 'list the runs with: agentrl-lab runs',
    });
  }
  const root = join(runsDirectory, id);
  return {
    root,
    manifest: join(root, 'run.json'),
    config: join(root, 'config.yaml'),
    lock: join(root, 'lock'),
    database: join(root, 'lab.db'),
    text: join(root, 'text.db'),
    segments: join(root, 'segments'),
    checkpoints: join(root, 'checkpoints'),
    logs: join(root, 'logs'),
  };
}

/**
 * Reads run.json. Throws `run-not-found` (naming runs of a similar id), `run-too-new` for a format this version does not
 * know, `config-invalid` when the file is damaged.
 */
export function readManifest(paths: RunPaths): RunManifest {
  const content = readManifestFile(paths);
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (thrown) {
    throw damaged(paths, errorText(thrown));
  }
  // The format comes first: a newer one may have any other shape.
  const format = z.object({ format: z.number() }).safeParse(value);
  if (format.success && format.data.format > RUN_FORMAT) {
    throw new LabError('run-too-new', {
      message: `${paths.manifest} has format ${format.data.format}; this version reads up to ${RUN_FORMAT}`,
      hint: 'open the run with the newer agentrl-lab that wrote it',
    });
  }
  const manifest = runManifestSchema.safeParse(value);
  if (manifest.success) return manifest.data;
  throw damaged(paths, reasonText(manifest.error));
}

/**
 * Replaces run.json atomically. On a full disk it is overwritten where it stands, if it fits into the block that it has:
 * nobody could learn the run's state otherwise. Throws `disk-full` or `run-unwritable`.
 */
export function writeManifest(paths: RunPaths, manifest: RunManifest): void {
  const content = `${JSON.stringify(manifest, null, 2)}\n`;
  try {
    writeFileAtomic(paths.manifest, content);
  } catch (thrown) {
    const isFull = thrown instanceof LabError && thrown.code === 'disk-full';
    if (!isFull || !overwrite(paths.manifest, content)) throw thrown;
  }
}

/** The smallest block of common file systems: a write within it takes no further space. */
const BLOCK_BYTES = 4096;

/** Blanks after the content take the place of what was longer. */
function overwrite(path: string, content: string): boolean {
  const length = Math.max(
    Buffer.byteLength(content),
    statSync(path, { throwIfNoEntry: false })?.size ?? Infinity,
  );
  if (length > BLOCK_BYTES) return false;
  try {
    const file = openSync(path, 'r+');
    try {
      return (
        writeSync(file, Buffer.alloc(length, ' ').fill(content, 0, Buffer.byteLength(content))) === length
      );
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
}

/** All runs, newest first. A run that cannot be read is listed with the reason. Empty when the directory is missing. */
export function listRuns(runsDirectory: string): RunListing[] {
  return runIds(runsDirectory)
    .map((id) => {
      const paths = runPaths(runsDirectory, id);
      const found = inspect(paths);
      const since = found.manifest?.createdAt ?? modifiedAt(paths.root);
      return { since, listing: { id, paths, ...found } };
    })
    .toSorted((left, right) => right.since - left.since || right.listing.id.localeCompare(left.listing.id))
    .map(({ listing }) => listing);
}

/** Makes the directories of a run; those that exist are kept. Throws `run-unwritable` with the reason, or `disk-full`. */
export function createRunDirectory(paths: RunPaths): void {
  for (const directory of [paths.root, paths.segments, paths.checkpoints, paths.logs]) {
    try {
      // On a read-only file system a recursive mkdir says "no such file": ask the directory that is there first.
      accessSync(nearestExisting(directory), constants.W_OK);
      mkdirSync(directory, { recursive: true });
    } catch (thrown) {
      throw storeError(thrown, 'make the run directory', directory);
    }
  }
}

/** Bytes of all files below a directory; files and directories that go meanwhile, or cannot be read, count as none. */
export function directoryBytes(directory: string): number {
  // Not recursive by readdir: that throws for a checkpoint which the run has just removed.
  return entriesOf(directory).reduce((sum, entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return sum + directoryBytes(path);
    return sum + (entry.isFile() ? (statSync(path, { throwIfNoEntry: false })?.size ?? 0) : 0);
  }, 0);
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Takes the right to write the run. Throws `run-locked`, naming the process and host that has it. */
export function lockRun(paths: RunPaths): RunLock {
  return takeLock(paths.lock);
}

/** Whether a process holds the run. */
export function isRunLive(paths: RunPaths): boolean {
  return isLockHeld(paths.lock);
}

function readManifestFile(paths: RunPaths): string {
  try {
    return readFileSync(paths.manifest, 'utf8');
  } catch (thrown) {
    const code = systemErrorCode(thrown);
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw damaged(paths, errorText(thrown));
    const id = basename(paths.root);
    const runs = runIds(dirname(paths.root)).filter((name) => name !== id);
    const similar = nearestNames(id, runs);
    const known = similar.length > 0 ? `; similar: ${similar.join(', ')}` : '';
    throw new LabError('run-not-found', {
      message: `no run "${id}" (${paths.manifest} is missing)${known}`,
      hint: 'list the runs with: agentrl-lab runs',
    });
  }
}

function damaged(paths: RunPaths, reason: string): LabError {
  return new LabError('config-invalid', {
    message: `${paths.manifest} is damaged: ${reason}`,
    hint: 'restore it from a copy; episodes and checkpoints beside it are not affected',
  });
}

function inspect(paths: RunPaths): Pick<RunListing, 'manifest' | 'error' | 'live'> {
  try {
    return { live: isRunLive(paths), manifest: readManifest(paths), error: null };
  } catch (thrown) {
    return { live: false, manifest: null, error: errorText(thrown) };
  }
}

function runIds(runsDirectory: string): string[] {
  try {
    return readdirSync(runsDirectory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && runIdSchema.safeParse(entry.name).success)
      .map((entry) => entry.name);
  } catch (thrown) {
    if (systemErrorCode(thrown) === 'ENOENT') return [];
    throw storeError(thrown, 'list the runs', runsDirectory);
  }
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
