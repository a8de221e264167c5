import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type ProgramFile, programFile, RUNS_FROM_SOURCE } from '../domain/program-files.ts';

/** What processes are started from: threads have no command. */
export type EntryName = Exclude<ProgramFile, 'searchThread' | 'readingThread' | 'gradientThread'>;

/**
 * Room for young objects, in MiB: those of an episode live for many batches when there are thousands of slots, and V8's
 * default of 16 copies them again and again (17 % of a worker's time with 3,500 slots, 12 % with this).
 * In the run process next to nothing lives long. But what it reads is in memory outside the heap, and each time that this has
 * grown by 64 MiB all of the heap is collected: with 16, before the young objects were, which would have let go of it.
 */
const NODE_FLAGS: Readonly<Partial<Record<EntryName, readonly string[]>>> = {
  worker: ['--max-semi-space-size=64'],
  run: ['--max-semi-space-size=4'],
};

/** Program and arguments that start an entry on this machine; from source, Node is given the tsx loader. */
export function entryCommand(entry: EntryName): readonly [string, ...string[]] {
  const path = fileURLToPath(programFile(entry));
  const flags = NODE_FLAGS[entry] ?? [];
  if (!RUNS_FROM_SOURCE) return [process.execPath, ...flags, path];
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return [process.execPath, ...flags, '--import', loader, path];
}
