import { existsSync } from 'node:fs';
import { errorText } from '../domain/error.ts';
import type { RunPaths } from './run-directory.ts';
import { isDamagedDatabase } from './store-error.ts';
import { openTextDatabaseReadOnly, readTextState, removeTextDatabase } from './text-database.ts';
import { TextIndexWriter } from './text-writer.ts';

/** What was found of a run's text index. */
export interface TextReport {
  /** What is wrong with it; null when it can be searched. That the newest episodes are missing is nothing wrong. */
  readonly problem: string | null;
  /** Episodes that it has now. */
  readonly episodes: number;
  /** It was made anew, or taken on to the last episode. */
  readonly repaired: boolean;
}

/** Checks the text index of a run; with `repair`, makes it anew if need be, and indexes what it lacks. */
export function checkText(paths: RunPaths, repair: boolean): TextReport {
  const problem = findProblem(paths.text);
  if (!repair) return { problem, episodes: problem === null ? countDocuments(paths) : 0, repaired: false };
  if (problem !== null) removeTextDatabase(paths.text);
  const before = problem === null ? countDocuments(paths) : -1;
  const episodes = completeText(paths);
  return { problem, episodes, repaired: episodes !== before };
}

/** Takes in all that the text index lacks; returns how many episodes it has then. The caller holds the run's lock. */
export function completeText(paths: RunPaths): number {
  const writer = new TextIndexWriter(paths);
  try {
    const { documents } = writer.add(Number.POSITIVE_INFINITY);
    writer.commit();
    return documents;
  } finally {
    writer.close();
  }
}

function findProblem(path: string): string | null {
  if (!existsSync(path)) return 'it is missing';
  const database = openTextDatabaseReadOnly(path);
  if (database === null) return 'it cannot be opened';
  try {
    const found = database.pragma('integrity_check(1)', { simple: true });
    return found === 'ok' ? null : `it is damaged: ${String(found).split('\n').at(-1)}`;
  } catch (thrown) {
    if (!isDamagedDatabase(thrown)) throw thrown;
    return `it is damaged: ${errorText(thrown)}`;
  } finally {
    database.close();
  }
}

function countDocuments({ text }: RunPaths): number {
  const database = openTextDatabaseReadOnly(text);
  try {
    return database === null ? 0 : readTextState(database).documents;
  } finally {
    database?.close();
  }
}
