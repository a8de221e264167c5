import type Database from 'better-sqlite3';
import { openDatabase } from './database.ts';
import { reconcile } from './reconcile.ts';
import { lockRun, type RunPaths } from './run-directory.ts';
import { storeError } from './store-error.ts';

/**
 * Does something to the store of a run that is not live, under its lock; `deed` names it in errors. What a crash left is put
 * right first. Throws `run-locked` while the run is live.
 */
export async function withEndedRun<Result>(
  paths: RunPaths,
  deed: string,
  work: (database: Database.Database) => Promise<Result>,
): Promise<Result> {
  const lock = lockRun(paths);
  try {
    const database = openDatabase(paths.database);
    try {
      reconcile(database, paths.segments);
      return await work(database);
    } finally {
      database.close();
    }
  } catch (thrown) {
    throw storeError(thrown, deed, paths.root);
  } finally {
    lock.release();
  }
}
