import { z } from 'zod';
import type { RandomStream } from '../../src/domain/random.ts';
import { TOOL_NAMES, type ToolName } from './tools.ts';

const jobSchema = z.strictObject({ tool: z.enum(TOOL_NAMES), arguments: z.array(z.string()) });
/** One run of a tool: a value for each field of its form. */
export type Job = Readonly<z.infer<typeof jobSchema>>;

const scenarioFileSchema = z.strictObject({
  name: z.string(),
  directory: z.string(),
  /** What reading it shows, in few words. */
  text: z.string(),
  /** Words of the text that can be given to a tool once they have been read. */
  values: z.array(z.string()),
});
export type ScenarioFile = Readonly<z.infer<typeof scenarioFileSchema>>;

/** What a Workbench task sets up, and what solves it: the `params` of a task. */
export const scenarioSchema = z.strictObject({
  files: z.array(scenarioFileSchema),
  directories: z.array(z.string()),
  /** New names that the agent can give to files. */
  names: z.array(z.string()),
  /** Tools on offer. */
  tray: z.array(z.enum(TOOL_NAMES)),
  /** Files that must be read, in this order. */
  reads: z.array(z.string()),
  /** Runs that do the task, in this order. */
  jobs: z.array(jobSchema),
});
export type Scenario = Readonly<z.infer<typeof scenarioSchema>>;

/** A scenario with the sentence that asks for it. */
export interface Assigned {
  /** The assignment: at most 31 words, no punctuation, so that every name in it stands as a word of its own. */
  readonly text: string;
  readonly scenario: Scenario;
}

/** Gives out words, none of them twice. */
export interface NameSource {
  take(): string;
  takeMany(count: number): string[];
}

/** Draws from `words`; the caller takes far fewer than there are. */
export function createNameSource(words: readonly string[], random: RandomStream): NameSource {
  const taken: string[] = [];
  const take = (): string => {
    let word = random.pick(words);
    while (taken.includes(word)) word = random.pick(words);
    taken.push(word);
    return word;
  };
  return {
    take,
    takeMany: (count) => {
      const names: string[] = [];
      for (let i = 0; i < count; i++) names.push(take());
      return names;
    },
  };
}

const TRAY_SIZE = 6;

/** A tray of six: the tools that the task needs, filled up with others, in random order. */
export function fillTray(needed: readonly ToolName[], random: RandomStream): ToolName[] {
  const others = random.shuffle(TOOL_NAMES.filter((name) => !needed.includes(name)));
  return random.shuffle([...needed, ...others.slice(0, TRAY_SIZE - needed.length)]);
}

const PLAIN_TEXTS = ['memo', 'list', 'draft', 'letter', 'minutes'] as const;

/** A file without anything in it that a tool could use. */
export function plainFile(name: string, directory: string, random: RandomStream): ScenarioFile {
  return { name, directory, text: random.pick(PLAIN_TEXTS), values: [] };
}
