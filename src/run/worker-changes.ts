import { join } from 'node:path';
import { z } from 'zod';
import { MOST_SLOTS } from '../domain/slot-limit.ts';
import { writeFileAtomic } from '../store/atomic-file.ts';
import { readJsonFile } from '../store/json-file.ts';
import type { RunPaths } from '../store/run-directory.ts';

/**
 * What people have changed of a run's workers, beside what its config says. Numbers are those of the config's workers, in
 * their order, and of the added ones after them; one that left keeps its number.
 */
const workerChangesSchema = z.object({
  /** Workers that the config had then: with another count the numbers mean nothing. */
  configured: z.int().nonnegative(),
  added: z.array(z.object({ host: z.string(), slots: z.int().positive().max(MOST_SLOTS) })),
  removed: z.array(z.int().nonnegative()),
  drained: z.array(z.int().nonnegative()),
});
export type WorkerChanges = Readonly<z.infer<typeof workerChangesSchema>>;

/** Nothing changed. */
export function noChanges(configured: number): WorkerChanges {
  return { configured, added: [], removed: [], drained: [] };
}

function fileOf(paths: Pick<RunPaths, 'root'>): string {
  return join(paths.root, 'workers.json');
}

/** What earlier attempts of the run left; null when nothing was changed. Throws `store-failed` when the file is damaged. */
export function readWorkerChanges(paths: Pick<RunPaths, 'root'>): WorkerChanges | null {
  return readJsonFile(
    fileOf(paths),
    workerChangesSchema,
    'remove it: the run then has the workers of its config',
  );
}

/** Keeps them for the next attempt. Throws `disk-full` or `run-unwritable`. */
export function writeWorkerChanges(paths: Pick<RunPaths, 'root'>, changes: WorkerChanges): void {
  writeFileAtomic(fileOf(paths), `${JSON.stringify(changes, null, 2)}\n`);
}
