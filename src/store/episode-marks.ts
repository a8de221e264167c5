import { readFile, stat } from 'node:fs/promises';
import type { z } from 'zod';
import { LabError } from '../domain/error.ts';
import { type EpisodeNote, notesPath, notesSchema } from './notes.ts';
import { pinsPath, pinsSchema } from './pins.ts';
import type { RunPaths } from './run-directory.ts';
import { reasonText } from './store-error.ts';

export { writeNotes } from './notes.ts';

/** What people have said of a run's episodes. */
export interface EpisodeMarks {
  /** Ids of those whose steps are kept whatever the budget, the newest pin last. */
  readonly pins: ReadonlySet<string>;
  /** By episode. */
  readonly notes: ReadonlyMap<string, EpisodeNote>;
}

export const NO_MARKS: EpisodeMarks = { pins: new Set(), notes: new Map() };

/** Reads pins and notes again when their files have changed, without holding up who asks. */
export class MarkReader {
  readonly #paths: RunPaths;
  #stamp = '';

  constructor(paths: RunPaths) {
    this.#paths = paths;
  }

  /** Null where nothing has changed since the last time. Rejects with `store-failed` for a damaged file, once. */
  async read(): Promise<EpisodeMarks | null> {
    const files = [pinsPath(this.#paths), notesPath(this.#paths)] as const;
    const stamp = (await Promise.all(files.map(stampOf))).join();
    if (stamp === this.#stamp) return null;
    this.#stamp = stamp;
    const [pins, notes] = await Promise.all([parsed(files[0], pinsSchema), parsed(files[1], notesSchema)]);
    return {
      pins: new Set(pins?.pins.map(({ episode }) => episode)),
      notes: new Map(notes?.notes.map((note) => [note.episode, note])),
    };
  }
}

async function stampOf(path: string): Promise<string> {
  try {
    const { ino, mtimeMs, size } = await stat(path);
    return `${ino}:${mtimeMs}:${size}`;
  } catch {
    return 'none';
  }
}

/** What a file holds; null where it is not there, or has gone meanwhile. */
async function parsed<Value>(path: string, schema: z.ZodType<Value>): Promise<Value | null> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch {
    return null;
  }
  try {
    return schema.parse(JSON.parse(content));
  } catch (thrown) {
    throw new LabError('store-failed', {
      message: `${path} is damaged: ${reasonText(thrown)}`,
      hint: 'mend the file, or delete it: it holds what people marked, and nothing of the run',
      cause: thrown,
    });
  }
}
