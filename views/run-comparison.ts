import { z } from 'zod';
import type { IterationMetrics } from '../src/domain/run.ts';
import type { Reading } from '../src/store/reading.ts';
import type { RunListing } from '../src/store/run-directory.ts';
import { ListCursor } from './list-cursor.ts';

/** Runs that are compared at most: more curves cannot be told apart. */
export const MOST_COMPARED = 4;

/** A run of a comparison. */
export interface ComparedRun {
  readonly id: string;
  /** Ascending. */
  readonly iterations: readonly IterationMetrics[];
}

/** A key of the config that is not the same in all runs; a value for each run, null where it has no such key. */
export interface ConfigDifference {
  readonly key: string;
  readonly values: readonly (string | null)[];
}

/** Runs beside each other: their curves, and what differs in their configs. */
export class RunComparison {
  readonly runs: readonly ComparedRun[];
  readonly differences: readonly ConfigDifference[];
  readonly cursor = new ListCursor();

  constructor(runs: readonly ComparedRun[], configs: readonly ReadonlyMap<string, string>[]) {
    this.runs = runs;
    const keys = [...new Set(configs.flatMap((config) => [...config.keys()]))].toSorted();
    this.differences = keys
      .map((key) => ({ key, values: configs.map((config) => config.get(key) ?? null) }))
      .filter(({ values }) => new Set(values).size > 1);
  }
}

/** Where a comparison has its data from. */
interface Sources {
  readonly reading: Pick<Reading, 'iterations'>;
  readonly verb: (words: readonly string[]) => Promise<unknown[]>;
}

const configSchema = z.looseObject({ config: z.record(z.string(), z.unknown()) });

/** Reads what is compared, beside the drawing. Rejects with what reading a run or its config throws. */
export async function compareRuns(
  runs: readonly RunListing[],
  { reading, verb }: Sources,
): Promise<RunComparison> {
  const compared = runs.map(async ({ id, paths }) => ({ id, iterations: await reading.iterations(paths) }));
  const configs = runs.map(async ({ paths }) => {
    const [answer] = await verb(['config', paths.config]);
    return new Map(flat('', configSchema.parse(answer).config));
  });
  return new RunComparison(await Promise.all(compared), await Promise.all(configs));
}

/** `sampling.slots` and the like, with their values as JSON. */
function flat(prefix: string, value: unknown): [string, string][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [[prefix, JSON.stringify(value)]];
  return Object.entries(value).flatMap(([key, inner]) =>
    flat(prefix === '' ? key : `${prefix}.${key}`, inner),
  );
}
