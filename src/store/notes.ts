import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { type EpisodeId, episodeIdSchema } from '../domain/id.ts';
import { writeFileAtomic } from './atomic-file.ts';
import { readJsonFile } from './json-file.ts';
import type { RunPaths } from './run-directory.ts';

const noteSchema = z.object({
  episode: episodeIdSchema,
  text: z.string(),
  /** `user@host`. */
  who: z.string(),
  /** When it was written, ms since the epoch. */
  time: z.number(),
});
export type EpisodeNote = Readonly<z.infer<typeof noteSchema>>;

export const notesSchema = z.object({ notes: z.array(noteSchema) });
const HINT = 'mend the file, or delete it: it holds the notes on episodes and nothing else';

/** Where the notes on a run's episodes stand: the run itself never touches this file, those who look at it write it. */
export function notesPath({ root }: RunPaths): string {
  return join(root, 'notes.json');
}

/** The notes on a run's episodes; none without a file. Throws `store-failed` for a damaged one. */
export function readNotes(paths: RunPaths): EpisodeNote[] {
  return readJsonFile(notesPath(paths), notesSchema, HINT)?.notes ?? [];
}

/** Writes the same text down about some episodes, in place of what was said of them; an empty text removes that. */
export function writeNotes(paths: RunPaths, episodes: readonly EpisodeId[], text: string): void {
  const about = new Set<string>(episodes);
  const others = readNotes(paths).filter(({ episode }) => !about.has(episode));
  const who = `${userInfo().username}@${hostname()}`;
  const words = text.trim();
  const added =
    words === '' ? [] : episodes.map((episode) => ({ episode, text: words, who, time: Date.now() }));
  writeFileAtomic(notesPath(paths), `${JSON.stringify({ notes: [...others, ...added] }, null, 2)}\n`);
}
