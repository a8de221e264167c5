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
 * 4: `episodes` is clustered by `arrival`, the number of a row as it came. By dispatch numbers, which end in another order, each
 *    row of a transaction was in a page of its own. Rows that are in no block are those from its end on, so `episode_tail` is
 *    gone. Constraints compare with each name: for a list of more than two, SQLite makes a table anew at each row.
 *    Blocks number rows by arrival; they are made anew by `healBlocks`.
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
  `
  ALTER TABLE episodes RENAME TO episodes_by_number;
  CREATE TABLE episodes (
    arrival INTEGER PRIMARY KEY,
    sequence INTEGER NOT NULL UNIQUE,
    segment INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL,
    env TEXT NOT NULL,
    family TEXT NOT NULL,
    split TEXT NOT NULL CHECK (split = 'train' OR split = 'held_out'),
    task_index INTEGER NOT NULL,
    task_seed INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    phase TEXT NOT NULL CHECK (phase = 'train' OR phase = 'eval'),
    mode TEXT NOT NULL CHECK (mode = 'sampled' OR mode = 'greedy'),
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
    terminated INTEGER NOT NULL CHECK (terminated = 0 OR terminated = 1),
    truncated INTEGER NOT NULL CHECK (truncated = 0 OR truncated = 1),
    success INTEGER NOT NULL CHECK (success = 0 OR success = 1),
    failure TEXT CONSTRAINT known_failure_type CHECK (
      failure = 'premature_submit' OR failure = 'wrong_result' OR failure = 'gave_up'
      OR failure = 'max_steps' OR failure = 'wall_clock' OR failure = 'context_limit'
      OR failure = 'env_crash' OR failure = 'env_timeout' OR failure = 'sandbox_error'
      OR failure = 'tool_error' OR failure = 'inference_error'),
    failure_detail TEXT,
    trust TEXT NOT NULL CHECK (trust = 'valid' OR trust = 'partial' OR trust = 'void'),
    reward REAL,
    components TEXT NOT NULL,
    behaviours INTEGER NOT NULL,
    tool_calls INTEGER NOT NULL DEFAULT 0,
    tool_failed INTEGER NOT NULL DEFAULT 0,
    tags TEXT NOT NULL DEFAULT '[]',
    failure_stage TEXT,
    more TEXT NOT NULL DEFAULT '{}',
    CONSTRAINT one_failure_type_unless_success CHECK ((success = 1) = (failure IS NULL)),
    CONSTRAINT void_has_no_reward CHECK (trust <> 'void' OR reward IS NULL),
    CONSTRAINT infrastructure_failure_is_void CHECK (
      failure IS NULL OR trust = 'void' OR (
        failure <> 'env_crash' AND failure <> 'env_timeout' AND failure <> 'sandbox_error'
        AND failure <> 'tool_error' AND failure <> 'inference_error'))
  ) STRICT;
  INSERT INTO episodes (
    arrival, sequence, segment, offset, length, env, family, split, task_index, task_seed, seed, phase, mode, iteration,
    attempt, difficulty, host, worker, slot, first_policy_version, policy_version, steps, started_at, wall_ms, terminated,
    truncated, success, failure, failure_detail, trust, reward, components, behaviours, tool_calls, tool_failed, tags,
    failure_stage, more)
  SELECT
    row_number() OVER (ORDER BY sequence) - 1, sequence, segment, offset, length, env, family, split, task_index, task_seed,
    seed, phase, mode, iteration, attempt, difficulty, host, worker, slot, first_policy_version, policy_version, steps,
    started_at, wall_ms, terminated, truncated, success, failure, failure_detail, trust, reward, components, behaviours,
    tool_calls, tool_failed, tags, failure_stage, more
  FROM episodes_by_number ORDER BY sequence;
  DROP TABLE episodes_by_number;
  DROP TABLE episode_tail;
  DELETE FROM episode_blocks;
  `,
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
