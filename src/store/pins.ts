import { join } from 'node:path';
import { z } from 'zod';
import { episodeIdSchema } from '../domain/id.ts';
import { writeFileAtomic } from './atomic-file.ts';
import { readJsonFile } from './json-file.ts';
import type { RunPaths } from './run-directory.ts';

export const pinsSchema = z.object({
  pins: z.array(z.object({ episode: episodeIdSchema, who: z.string(), time: z.number() })),
});
type Pins = z.infer<typeof pinsSchema>['pins'];

/** Episodes that keep their steps whatever the budget; empty without any. Throws `store-failed` for a damaged file. */
export function readPins(paths: RunPaths): ReadonlySet<string> {
  return new Set(readFile(paths).map(({ episode }) => episode));
}

/** Pins an episode, or lets it go. The caller is the run's writer. Returns whether that changed anything. */
export function setPin(
  paths: RunPaths,
  { episode, who, pinned }: { readonly episode: string; readonly who: string; readonly pinned: boolean },
): boolean {
  const before = readFile(paths);
  if (before.some((pin) => pin.episode === episode) === pinned) return false;
  const others = before.filter((pin) => pin.episode !== episode);
  const added = pinned ? [{ episode, who, time: Date.now() }] : [];
  writeFileAtomic(pinsPath(paths), `${JSON.stringify({ pins: [...others, ...added] }, null, 2)}\n`);
  return true;
}

/** Where the pins of a run stand. */
export function pinsPath({ root }: RunPaths): string {
  return join(root, 'pins.json');
}

function readFile(paths: RunPaths): Pins {
  const hint = 'delete the file and pin again what was pinned';
  return readJsonFile(pinsPath(paths), pinsSchema, hint)?.pins ?? [];
}
