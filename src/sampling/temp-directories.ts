import { lstatSync, mkdirSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import type { SlotResources } from '../../envs/contract.ts';
import { LabError, systemErrorCode } from '../domain/error.ts';

/** Begins the name of every worker's directory. */
const PREFIX = 'agentrl-lab-slots-';
/** Files that are looked at in one directory, so that a slot with a million of them does not stop the worker. */
const MOST_ENTRIES = 2000;

/** The directory below which the slots of this process have theirs; it need not be there. */
export function tempRoot(): string {
  return join(tmpdir(), `${PREFIX}${hostname()}-${process.pid}`);
}

/** Removes what processes of this machine left that were killed before they could. Returns the names of the directories. */
export function removeAbandoned(): string[] {
  const prefix = `${PREFIX}${hostname()}-`;
  const abandoned = readdirSync(tmpdir()).filter(
    (name) => name.startsWith(prefix) && isGone(Number(name.slice(prefix.length))),
  );
  for (const name of abandoned) removeTree(join(tmpdir(), name));
  return abandoned;
}

function isGone(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    // A directory of this number that is there before us is of one that had it earlier.
    return pid === process.pid;
  } catch (thrown) {
    return systemErrorCode(thrown) === 'ESRCH';
  }
}

/** What another user or a dying process holds stays; the next start tries again. */
function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 2 });
  } catch {
    // Not worth an episode.
  }
}

/** Open files of this process: all, and those below the directory of a slot. */
export interface OpenFiles {
  readonly total: number;
  readonly bySlot: ReadonlyMap<number, number>;
}

/** The directory of one environment of a slot: made when it is asked for, removed with the environment. */
export class SlotDirectory implements SlotResources {
  readonly #make: () => string;
  #path: string | null = null;
  #removed = false;

  constructor(make: () => string) {
    this.#make = make;
  }

  /** Null until the environment has asked for it. */
  get path(): string | null {
    return this.#path;
  }

  tempDirectory(): string {
    if (this.#removed) {
      throw new LabError('environment-invalid', {
        message: 'a closed environment asked for its temporary directory',
        hint: 'ask for it in reset or step, and stop all work in close',
      });
    }
    this.#path ??= this.#make();
    return this.#path;
  }

  async remove(): Promise<void> {
    this.#removed = true;
    const path = this.#path;
    this.#path = null;
    if (path === null) return;
    try {
      await rm(path, { recursive: true, force: true, maxRetries: 2 });
    } catch {
      // It goes with the worker's.
    }
  }
}

/** The temporary directories of a worker's slots. */
export class TempDirectories {
  readonly #root: string;
  readonly #current = new Map<number, SlotDirectory>();
  readonly #bytes = new Map<number, number>();
  #made = 0;
  /** Where the next measuring goes on. */
  #next = 0;

  constructor(root: string) {
    this.#root = root;
  }

  /** Whether any environment has asked for one. */
  get wasUsed(): boolean {
    return this.#made > 0;
  }

  /** The directory for a new environment of a slot; that of the one before is for its owner to remove. */
  open(slot: number): SlotDirectory {
    const directory = new SlotDirectory(() => {
      // Never the name of one before: a broken environment may still write there.
      const path = join(this.#root, `slot-${slot}-${++this.#made}`);
      mkdirSync(path, { recursive: true, mode: 0o700 });
      return path;
    });
    this.#current.set(slot, directory);
    this.#bytes.delete(slot);
    return directory;
  }

  /** Bytes in the first MOST_ENTRIES files of a slot's directory when it was last looked at. */
  bytes(slot: number): number {
    return this.#bytes.get(slot) ?? 0;
  }

  /** The sum of them. */
  get totalBytes(): number {
    let sum = 0;
    for (const bytes of this.#bytes.values()) sum += bytes;
    return sum;
  }

  /** Looks at some directories, until MOST_ENTRIES files were seen; the next time at those after them. */
  measure(): void {
    const used = [...this.#current].filter(([, { path }]) => path !== null);
    let left = MOST_ENTRIES;
    for (let looked = 0; looked < used.length && left > 0; looked++) {
      this.#next = (this.#next + 1) % used.length;
      const [slot, directory] = used[this.#next] ?? [];
      if (slot === undefined || directory?.path == null) continue;
      const found = treeBytes(directory.path, MOST_ENTRIES);
      this.#bytes.set(slot, found.bytes);
      left -= found.entries;
    }
  }

  /** Who has files open; null where the platform does not say. */
  openFiles(): OpenFiles | null {
    const names = tryReadDirectory('/proc/self/fd');
    if (names === null) return null;
    const bySlot = new Map<number, number>();
    const prefix = `${this.#root}${sep}slot-`;
    // Nobody has a directory: no link to read.
    for (const name of this.#made === 0 ? [] : names) {
      const target = tryReadLink(`/proc/self/fd/${name}`);
      if (target?.startsWith(prefix) !== true) continue;
      const slot = Number.parseInt(target.slice(prefix.length), 10);
      bySlot.set(slot, (bySlot.get(slot) ?? 0) + 1);
    }
    return { total: names.length, bySlot };
  }

  /** Removes all of them. */
  close(): void {
    removeTree(this.#root);
  }
}

/** Bytes below a directory, in its first `most` entries. */
function treeBytes(root: string, most: number): { readonly bytes: number; readonly entries: number } {
  let bytes = 0;
  let entries = 0;
  const open = [root];
  for (let path = open.pop(); path !== undefined && entries < most; path = open.pop()) {
    for (const name of tryReadDirectory(path) ?? []) {
      if (++entries > most) break;
      const below = join(path, name);
      // It may go away while it is looked at.
      const status = lstatSync(below, { throwIfNoEntry: false });
      if (status?.isDirectory() === true) open.push(below);
      else bytes += status?.size ?? 0;
    }
  }
  return { bytes, entries };
}

function tryReadDirectory(path: string): string[] | null {
  try {
    return readdirSync(path);
  } catch {
    return null;
  }
}

function tryReadLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
