import type Database from 'better-sqlite3';
import { type EpisodeSummary, episodeSummarySchema } from '../domain/episode.ts';
import { episodeSequence } from '../domain/id.ts';
import {
  type Evaluation,
  evaluationSchema,
  type IterationMetrics,
  iterationMetricsSchema,
  type KnobChange,
  knobChangeSchema,
  type RunEvent,
  runEventSchema,
} from '../domain/run.ts';
import { BlockWriter } from './columns/block-writer.ts';
import { episodeToRow, INSERT_EPISODE } from './episode-row.ts';
import { readStubs } from './rewrite.ts';
import type { RecordPlace, StoredRecord } from './segment.ts';

/** A record that is small and has no body, with its kind. */
export type LogEntry =
  | { readonly kind: 'iteration'; readonly value: IterationMetrics }
  | { readonly kind: 'evaluation'; readonly value: Evaluation }
  | { readonly kind: 'event'; readonly value: RunEvent }
  | { readonly kind: 'knob'; readonly value: KnobChange };

/** Adds rows to the index. Nothing is committed here: callers hold the transaction. */
export interface IndexRows {
  /** False when an episode of that id is there already; nothing is changed then. */
  episode(summary: EpisodeSummary, place: RecordPlace): boolean;
  /** The record of an episode that was added is so long. */
  setLength(id: EpisodeSummary['id'], length: number): void;
  entry(entry: LogEntry): void;
  /** Adds the row of a record read from a segment. Throws what zod or SQLite throw when it is not as agreed. */
  record(record: StoredRecord, place: RecordPlace): boolean;
  /** A segment is indexed up to this byte. */
  indexedTo(segment: number, bytes: number): void;
  /** The transaction was undone. */
  undone(): void;
}

/** Prepares the statements that add rows. `blockRows`: rows of a block of columns, BLOCK_ROWS by default. */
export function prepareIndexRows(database: Database.Database, blockRows?: number): IndexRows {
  const insertEpisode = database.prepare(INSERT_EPISODE);
  const blocks = new BlockWriter(database, blockRows);
  const insertIteration = database.prepare(
    'INSERT OR REPLACE INTO iterations (iteration, attempt, metrics) VALUES (?, ?, ?)',
  );
  const insertEvaluation = database.prepare(
    'INSERT OR REPLACE INTO evaluations (iteration, mode, evaluation) VALUES (?, ?, ?)',
  );
  const insertEvent = database.prepare('INSERT INTO events (event) VALUES (?)');
  const insertKnobChange = database.prepare('INSERT INTO knob_changes (change) VALUES (?)');
  const setLength = database.prepare('UPDATE episodes SET length = ? WHERE sequence = ?');
  const setIndexed = database.prepare(
    `INSERT INTO segments (number, indexed_bytes) VALUES (?, ?)
     ON CONFLICT (number) DO UPDATE SET indexed_bytes = excluded.indexed_bytes`,
  );

  const episode: IndexRows['episode'] = (summary, place) => {
    const row = episodeToRow(summary, place);
    row.push(blocks.next());
    if (insertEpisode.run(row).changes === 0) return false;
    blocks.add(row, summary.components);
    return true;
  };
  const entry: IndexRows['entry'] = ({ kind, value }) => {
    const json = JSON.stringify(value);
    switch (kind) {
      case 'iteration':
        insertIteration.run(value.iteration, value.attempt, json);
        break;
      case 'evaluation':
        insertEvaluation.run(value.iteration, value.mode, json);
        break;
      case 'event':
        insertEvent.run(json);
        break;
      case 'knob':
        insertKnobChange.run(json);
        break;
    }
  };
  const rows: IndexRows = {
    episode,
    setLength: (id, length) => void setLength.run(length, episodeSequence(id)),
    entry,
    record: (stored, place) => {
      const { kind, header, parts } = stored;
      if (parts !== undefined) return parts.filter((part) => rows.record(part, place)).length > 0;
      // Length 0 says that the steps were dropped.
      if (kind === 'stubs') {
        return readStubs(stored).filter((summary) => episode(summary, { ...place, length: 0 })).length > 0;
      }
      if (kind === 'episode' || kind === 'group') return episode(episodeSummarySchema.parse(header), place);
      entry(parseEntry(kind, header));
      return true;
    },
    indexedTo: (segment, bytes) => void setIndexed.run(segment, bytes),
    undone: () => blocks.forget(),
  };
  return rows;
}

/** Checks an entry against its schema: a NaN would become null in JSON and be unreadable ever after. */
export function parseEntry(kind: LogEntry['kind'], value: unknown): LogEntry {
  switch (kind) {
    case 'iteration':
      return { kind, value: iterationMetricsSchema.parse(value) };
    case 'evaluation':
      return { kind, value: evaluationSchema.parse(value) };
    case 'event':
      return { kind, value: runEventSchema.parse(value) };
    case 'knob':
      return { kind, value: knobChangeSchema.parse(value) };
  }
}
