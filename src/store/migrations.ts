import type Database from 'better-sqlite3';
import { LabError } from '../domain/error.ts';

/**
 * The index's schema, one entry a version, applied in order; `user_version` counts them. Entries are history: never edit
 * one that was released, add another.
 *
 * 1: `segments.indexed_bytes` is how far a segment has been indexed, moved on in the transaction that adds the rows.
 *    `behaviours` is a bit mask (episode-row.ts). Everything else that a run records is small: one JSON column.
 * 2: Filters are answered from `episode_blocks` and `episode_tail` (columns/block-writer.ts), so the indices that served them
 *    are gone.
 *    `tags` is a JSON array, `more` a JSON object of those parts of a summary that have no column.
 * 3: Several episodes may have the same place: a record that holds them all. The tables are as before; a lab that does not know
 *    such records would take them for damage.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE segments (
    number INTEGER PRIMARY KEY,
    indexed_bytes INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE episodes (
    sequence INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    env TEXT NOT NULL,
    family TEXT NOT NULL,
    split TEXT NOT NULL CHECK (split IN ('train', 'held_out')),
    task_index INTEGER NOT NULL,
    task_seed INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    phase TEXT NOT NULL CHECK (phase IN ('train', 'eval')),
    mode TEXT NOT NULL CHECK (mode IN ('sampled', 'greedy')),
    iteration INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    difficulty REAL NOT NULL,
    host TEXT NOT NULL,
    worker INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    first_policy_version INTEGER NOT NULL,
    policy_version INTEGER NOT NULL,
    steps INTEGER NOT NULL CHECK (steps >= 0),
    started_at REAL NOT NULL,
    wall_ms REAL NOT NULL,
    terminated INTEGER NOT NULL CHECK (terminated IN (0, 1)),
    truncated INTEGER NOT NULL CHECK (truncated IN (0, 1)),
    success INTEGER NOT NULL CHECK (success IN (0, 1)),
    failure TEXT CONSTRAINT known_failure_type CHECK (failure IN (
      'env_crash', 'env_timeout', 'sandbox_error', 'tool_error', 'inference_error',
      'max_steps', 'wall_clock', 'context_limit',
      'premature_submit', 'wrong_result', 'gave_up')),
    failure_detail TEXT,
    trust TEXT NOT NULL CHECK (trust IN ('valid', 'partial', 'void')),
    reward REAL,
    components TEXT NOT NULL,
    behaviours INTEGER NOT NULL,
    CONSTRAINT one_failure_type_unless_success CHECK ((success = 1) = (failure IS NULL)),
    CONSTRAINT void_has_no_reward CHECK (trust <> 'void' OR reward IS NULL),
    CONSTRAINT infrastructure_failure_is_void CHECK (
      failure IS NULL OR trust = 'void' OR failure NOT IN (
        'env_crash', 'env_timeout', 'sandbox_error', 'tool_error', 'inference_error'))
  ) STRICT;
  CREATE INDEX episodes_by_failure ON episodes (failure, sequence);
  CREATE INDEX episodes_by_family ON episodes (family, sequence);
  CREATE INDEX episodes_by_phase ON episodes (phase, sequence);

  CREATE TABLE iterations (
    iteration INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    metrics TEXT NOT NULL,
    PRIMARY KEY (iteration, attempt)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE evaluations (
    iteration INTEGER NOT NULL,
    mode TEXT NOT NULL,
    evaluation TEXT NOT NULL,
    PRIMARY KEY (iteration, mode)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE events (id INTEGER PRIMARY KEY, event TEXT NOT NULL) STRICT;
  CREATE TABLE knob_changes (id INTEGER PRIMARY KEY, change TEXT NOT NULL) STRICT;
  `,
  `
  ALTER TABLE episodes ADD COLUMN tool_calls INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE episodes ADD COLUMN tool_failed INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE episodes ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
  ALTER TABLE episodes ADD COLUMN failure_stage TEXT;
  ALTER TABLE episodes ADD COLUMN more TEXT NOT NULL DEFAULT '{}';
  DROP INDEX episodes_by_failure;
  DROP INDEX episodes_by_family;
  DROP INDEX episodes_by_phase;
  CREATE TABLE episode_blocks (
    start INTEGER PRIMARY KEY,
    rows INTEGER NOT NULL,
    data BLOB NOT NULL
  ) STRICT;
  CREATE TABLE episode_tail (arrival INTEGER PRIMARY KEY, sequence INTEGER NOT NULL) STRICT;
  `,
  '',
];

/** The schema that this version writes and reads. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** The schema version of an open database; 0 for an empty one. Throws `run-too-new` for one from a newer lab. */
export function schemaVersion(database: Database.Database): number {
  const version = Number(database.pragma('user_version', { simple: true }));
  if (version > SCHEMA_VERSION) {
    throw new LabError('run-too-new', {
      message: `${database.name} has schema ${version}; this version reads up to ${SCHEMA_VERSION}`,
      hint: 'open the run with the newer agentrl-lab that wrote it',
    });
  }
  return version;
}

/** Brings a database to SCHEMA_VERSION, all in one transaction. */
export function migrate(database: Database.Database): void {
  database
    .transaction(() => {
      for (const statements of MIGRATIONS.slice(schemaVersion(database))) database.exec(statements);
      database.pragma(`user_version = ${SCHEMA_VERSION}`);
    })
    .immediate();
}
