import { basename, dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import { episodeBodySchema, shortObservations } from '../domain/episode.ts';
import { episodeId } from '../domain/id.ts';
import { readEpisodeRecord } from './body-reader.ts';
import { runPaths } from './run-directory.ts';
import { inflateBody } from './segment.ts';
import { OBSERVATION_FUNCTIONS } from './sql-views.ts';

type Observations = Readonly<Record<(typeof OBSERVATION_FUNCTIONS)[number], string | null>>;

const NONE: Observations = { first_observation: null, last_observation: null };
const argumentsSchema = z.tuple([z.string(), z.int(), z.int(), z.int(), z.int()]);

/**
 * Lets queries read what an episode saw first and last, in short (`shortObservations`), from its record: NULL where the steps
 * are dropped or cannot be read. `runs`: by schema of the connection. Nothing is read for rows that a query leaves out.
 */
export function addObservationFunctions(
  database: Database.Database,
  runs: ReadonlyMap<string, { readonly database: string }>,
): void {
  const directories = new Map([...runs].map(([schema, run]) => [schema, segmentsBeside(run.database)]));
  // Both functions are asked of one row, one after the other.
  let [newest, known] = ['', NONE];
  const read = (given: readonly unknown[]): Observations => {
    const [schema, segment, offset, length, sequence] = argumentsSchema.parse(given);
    const key = `${schema} ${sequence}`;
    if (key === newest) return known;
    const directory = directories.get(schema);
    newest = key;
    known = directory === undefined ? NONE : observationsOf(directory, { segment, offset, length }, sequence);
    return known;
  };
  for (const name of OBSERVATION_FUNCTIONS) {
    database.function(name, { varargs: true }, (...given: unknown[]) => read(given)[name]);
  }
}

function segmentsBeside(database: string): string {
  const root = dirname(database);
  return runPaths(dirname(root), basename(root)).segments;
}

function observationsOf(
  directory: string,
  place: { readonly segment: number; readonly offset: number; readonly length: number },
  sequence: number,
): Observations {
  try {
    const record = readEpisodeRecord(directory, episodeId(sequence), () => place);
    const body = episodeBodySchema.parse(JSON.parse(inflateBody(record).toString('utf8')));
    const { first, last } = shortObservations(body);
    return { first_observation: first, last_observation: last };
  } catch {
    // A query over a million rows is not to end at one that is damaged: fsck is what says so.
    return NONE;
  }
}
