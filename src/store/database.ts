import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { LabError, systemErrorCode } from '../domain/error.ts';
import { migrate, schemaVersion } from './migrations.ts';
import { repairCommand, storeError } from './store-error.ts';

/** How long to wait for another process's lock, in ms. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens the index to write: creates it or brings it to the present schema. WAL, so that readers never wait and a killed
 * process loses nothing; after a power failure the last transactions may be gone, and come back from the segments.
 */
export function openDatabase(path: string): Database.Database {
  let database: Database.Database | null = null;
  try {
    // SQLite would open what cannot be written, and only fail later.
    accessSync(dirname(path), constants.W_OK);
    database = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = NORMAL');
    database.pragma('journal_size_limit = 67108864');
    migrate(database);
    return database;
  } catch (thrown) {
    database?.close();
    throw storeError(thrown, 'open the index', path);
  }
}

/** Opens the index to read, of any schema up to this one. Throws `store-failed` without one, `run-too-new` for a newer. */
export function openDatabaseReadOnly(path: string): Database.Database {
  if (!existsSync(path)) throw noIndex(path);
  let database: Database.Database | null = null;
  try {
    database = openForReading(path);
    if (schemaVersion(database) === 0) throw noIndex(path);
    return database;
  } catch (thrown) {
    database?.close();
    throw storeError(thrown, 'open the index', path);
  }
}

function openForReading(path: string): Database.Database {
  const database = new Database(path, { readonly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    // Nothing is read before the first statement.
    database.pragma('schema_version');
    return database;
  } catch (thrown) {
    database.close();
    if (
      systemErrorCode(thrown) !== 'SQLITE_CANTOPEN' &&
      systemErrorCode(thrown) !== 'SQLITE_READONLY_DIRECTORY'
    )
      throw thrown;
    return openCopy(path);
  }
}

/**
 * WAL needs to make files beside the database even to read it, which a read-only file system refuses: read a copy in
 * memory instead, its header (bytes 18 and 19) changed from WAL to a plain journal.
 */
function openCopy(path: string): Database.Database {
  const bytes = readFileSync(path);
  bytes.fill(1, 18, 20);
  return new Database(bytes, { readonly: true });
}

function noIndex(path: string): LabError {
  return new LabError('store-failed', {
    message: `${path} is missing or empty`,
    hint: `resume the run, or rebuild its index from the segments with: ${repairCommand(path)}`,
  });
}
