import type Database from 'better-sqlite3';
import { z } from 'zod';
import {
  type EpisodeBody,
  type EpisodeSummary,
  episodeBodySchema,
  episodeSummarySchema,
} from '../domain/episode.ts';
import { LabError } from '../domain/error.ts';
import { type EpisodeId, episodeIdSchema, episodeSequence } from '../domain/id.ts';
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
import { isRecord } from '../domain/table.ts';
import { readEpisodeRecord } from './body-reader.ts';
import { openDatabaseReadOnly } from './database.ts';
import { EpisodeFinder, type EpisodePage, type PageOptions } from './episode-finder.ts';
import { episodeColumnsSql, rowToEpisode } from './episode-row.ts';
import type { Filter } from './filter.ts';
import { IterationRows, type SuccessRow } from './iteration-rows.ts';
import { LongEpisode } from './long-episode.ts';
import { schemaVersion } from './migrations.ts';
import { type RunPaths, readManifest } from './run-directory.ts';
import { RunText } from './run-text.ts';
import { inflateBody, type RecordPlace, type StoredRecord } from './segment.ts';
import { reasonText, storeError } from './store-error.ts';
import { tellingRows } from './telling-rows.ts';

/** A whole episode: what is indexed, and its steps. */
export interface StoredEpisode {
  readonly summary: EpisodeSummary;
  readonly body: EpisodeBody;
}

/** Reads a run's index and segments, live or not; never writes. Every answer is of one moment. */
export interface RunReader {
  /**
   * Ascending, those after `after` until `until`, one per iteration number. Where a resumed run began again at an
   * iteration, what earlier attempts did from there on is left out.
   */
  iterations(after?: number, until?: number): IterationMetrics[];
  /** The same rows as they were stored, unchecked: a third of the time, for looking at very many. */
  plainIterations(after: number, until: number): Readonly<Record<string, unknown>>[];
  /**
   * At most about `most` of the rows that `iterations` has, ascending: of each stretch of very many those with the least and the
   * greatest of each figure, and the last one, so that a chart of them shows what one of all rows would.
   */
  fewIterations(
    most: number,
    figures: readonly (keyof IterationMetrics)[],
    span?: { readonly after: number; readonly until: number },
  ): IterationMetrics[];
  /** The greatest number of an iteration; 0 before the first. */
  lastIteration(): number;
  /** Success of the iterations after `after`, ascending, as `iterations` counts them: read without the rest of their metrics. */
  success(after: number): SuccessRow[];
  /** By iteration, sampled and greedy; the newest `most`. */
  evaluations(most?: number): Evaluation[];
  /** Oldest first, without the first `after`. */
  knobChanges(after?: number): KnobChange[];
  /** Newest first. */
  events(limit: number): RunEvent[];
  /** All of a kind, oldest first. */
  eventsOfKind(kind: string): RunEvent[];
  /** In the filter's order: newest first unless it says otherwise. */
  episodes(filter: Filter, options: PageOptions): EpisodePage;
  countEpisodes(filter: Filter): number;
  /** How many episodes by failure type, and `success`; types that do not occur are left out. */
  failureCounts(filter: Filter): Record<string, number>;
  /** Throws `episode-not-found`, naming the ids there are, `episode-dropped`, or `segment-corrupt`. */
  episode(id: string): StoredEpisode;
  /** What is indexed of an episode. Throws `episode-not-found`. */
  summary(id: string): EpisodeSummary;
  /** The same as `episode`, for one that is read a page at a time. Throws the same. */
  longEpisode(id: string): LongEpisode;
  close(): void;
}

/**
 * Opens a run to read. `now`, in ms since the epoch, is what ages count from. Throws `store-failed` without an index,
 * `run-too-new` for one of a newer lab.
 */
export function openRunReader(paths: RunPaths, now: () => number = Date.now): RunReader {
  return new IndexReader(paths, now);
}

const placeSchema = z.looseObject({ segment: z.int(), offset: z.int(), length: z.int() });

class IndexReader implements RunReader {
  readonly #paths: RunPaths;
  readonly #database: Database.Database;
  readonly #finder: EpisodeFinder;
  readonly #text: RunText;
  #iterations: IterationRows | null = null;

  constructor(paths: RunPaths, now: () => number) {
    this.#paths = paths;
    this.#database = openDatabaseReadOnly(paths.database);
    this.#text = new RunText(paths.text);
    this.#finder = new EpisodeFinder(this.#database, now, this.#text);
  }

  iterations(after = 0, until = Number.MAX_SAFE_INTEGER): IterationMetrics[] {
    return this.#iterationRows((rows) => rows.between(after, until)).map(({ metrics }) =>
      this.#understood(() => iterationMetricsSchema.parse(JSON.parse(metrics))),
    );
  }

  success(after: number): SuccessRow[] {
    return this.#iterationRows((rows) => rows.successAfter(after));
  }

  plainIterations(after: number, until: number): Readonly<Record<string, unknown>>[] {
    return this.#iterationRows((rows) => rows.between(after, until)).map(({ metrics }) =>
      this.#understood(() => {
        const row: unknown = JSON.parse(metrics);
        return isRecord(row) ? row : {};
      }),
    );
  }

  fewIterations(
    most: number,
    figures: readonly (keyof IterationMetrics)[],
    { after, until } = { after: 0, until: Number.MAX_SAFE_INTEGER },
  ): IterationMetrics[] {
    return this.#iterationRows((rows) => {
      const length = Math.min(until, rows.last()) - after;
      if (length <= most) return this.iterations(after, until);
      const width = Math.ceil((length * (2 * figures.length + 1)) / most);
      return this.#understood(() => tellingRows(rows.each(after, until), figures, width)).map((metrics) =>
        this.#understood(() => iterationMetricsSchema.parse(metrics)),
      );
    });
  }

  lastIteration(): number {
    return this.#iterationRows((rows) => rows.last());
  }

  evaluations(most = Number.MAX_SAFE_INTEGER): Evaluation[] {
    const newest = this.#parsed(
      evaluationSchema,
      'SELECT evaluation FROM evaluations ORDER BY iteration DESC, mode LIMIT ?',
      [most],
    );
    return newest.toReversed();
  }

  knobChanges(after = 0): KnobChange[] {
    return this.#parsed(knobChangeSchema, 'SELECT change FROM knob_changes WHERE id > ? ORDER BY id', [
      after,
    ]);
  }

  events(limit: number): RunEvent[] {
    return this.#parsed(runEventSchema, 'SELECT event FROM events ORDER BY id DESC LIMIT ?', [limit]);
  }

  eventsOfKind(kind: string): RunEvent[] {
    const sql = `SELECT event FROM events WHERE json_extract(event, '$.kind') = ? ORDER BY id`;
    return this.#parsed(runEventSchema, sql, [kind]);
  }

  episodes(filter: Filter, options: PageOptions): EpisodePage {
    const { episodes, next } = this.#found(() => this.#finder.search(filter, options));
    return { episodes, next };
  }

  countEpisodes(filter: Filter): number {
    return this.#found(() => this.#finder.count(filter.where));
  }

  failureCounts(filter: Filter): Record<string, number> {
    return this.#found(() => this.#finder.failureCounts(filter.where));
  }

  episode(id: string): StoredEpisode {
    const { summary, record } = this.#record(id);
    try {
      return { summary, body: episodeBodySchema.parse(JSON.parse(inflateBody(record).toString('utf8'))) };
    } catch (thrown) {
      throw thrown instanceof LabError ? thrown : corrupt(id, reasonText(thrown), thrown);
    }
  }

  summary(id: string): EpisodeSummary {
    const parsed = episodeIdSchema.safeParse(id);
    const [row] = parsed.success
      ? this.#rows(
          `SELECT ${episodeColumnsSql(schemaVersion(this.#database))} FROM episodes WHERE sequence = ?`,
          [episodeSequence(parsed.data)],
        )
      : [];
    if (row === undefined) throw this.#notFound(id);
    return rowToEpisode(row);
  }

  longEpisode(id: string): LongEpisode {
    const { summary, record } = this.#record(id);
    return new LongEpisode(summary, record.body);
  }

  close(): void {
    this.#text.close();
    this.#database.close();
  }

  #found<Value>(find: () => Value): Value {
    try {
      return find();
    } catch (thrown) {
      throw storeError(thrown, 'read the index', this.#paths.database);
    }
  }

  /** The record has more than the row: tools by name, and where the time went. */
  #record(id: string): { readonly summary: EpisodeSummary; readonly record: StoredRecord } {
    const indexed = this.summary(id);
    const record = readEpisodeRecord(this.#paths.segments, indexed.id, () => this.#place(indexed.id));
    const named = z.looseObject({ id: z.string() }).safeParse(record.header);
    if (record.kind !== 'episode' || named.data?.id !== indexed.id) {
      throw corrupt(id, `the index points at ${named.data?.id ?? record.kind}`);
    }
    const summary = episodeSummarySchema.safeParse(record.header);
    if (!summary.success) throw corrupt(id, reasonText(summary.error), summary.error);
    return { summary: summary.data, record };
  }

  #place(id: EpisodeId): RecordPlace {
    return placeSchema.parse(
      this.#rows('SELECT segment, offset, length FROM episodes WHERE sequence = ?', [episodeSequence(id)])[0],
    );
  }

  #notFound(id: string): LabError {
    const [range] = this.#rows('SELECT min(sequence) AS first, max(sequence) AS last FROM episodes', []);
    const known =
      typeof range?.['first'] === 'number'
        ? `there are e${range['first']} to e${String(range['last'])}`
        : 'none is stored yet';
    return new LabError('episode-not-found', {
      message: `no episode "${id}": ${known}`,
      hint: 'list episodes with: agentrl-lab episodes',
    });
  }

  #rows(sql: string, parameters: readonly (string | number)[]): Record<string, unknown>[] {
    try {
      return this.#database.prepare<unknown[], Record<string, unknown>>(sql).all(...parameters);
    } catch (thrown) {
      throw storeError(thrown, 'read the index', this.#paths.database);
    }
  }

  #iterationRows<Value>(read: (rows: IterationRows) => Value): Value {
    try {
      this.#iterations ??= new IterationRows(this.#database, () => newestAttempt(this.#paths));
      return read(this.#iterations);
    } catch (thrown) {
      throw storeError(thrown, 'read the index', this.#paths.database);
    }
  }

  #understood<Value>(read: () => Value): Value {
    try {
      return read();
    } catch (thrown) {
      throw storeError(thrown, 'understand a row of the index', this.#paths.database);
    }
  }

  #parsed<Value>(schema: z.ZodType<Value>, sql: string, parameters: readonly (number | string)[]): Value[] {
    return this.#rows(sql, parameters).map((row) =>
      this.#understood(() => schema.parse(JSON.parse(String(Object.values(row)[0])))),
    );
  }
}

/** Of the run; Infinity where its manifest does not say. */
function newestAttempt(paths: RunPaths): number {
  try {
    return readManifest(paths).attempt;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function corrupt(id: string, what: string, cause?: unknown): LabError {
  return new LabError('segment-corrupt', {
    message: `episode ${id} cannot be read: ${what}`,
    hint: 'see what is lost with: agentrl-lab fsck, and rebuild the index of the rest with: agentrl-lab fsck --repair',
    cause,
  });
}
