import { keysOf } from '../../src/domain/table.ts';
import type { World } from './world.ts';

/** What running a tool came to. A run that failed changed nothing. */
export interface ToolOutcome {
  readonly ok: boolean;
  /** What the agent is told, in few words. */
  readonly text: string;
}

export interface Tool {
  /** Labels of the form's parameters, in the order in which they are filled. */
  readonly fields: readonly string[];
  /** Runs with a value for each field. */
  run(world: World, values: readonly string[]): ToolOutcome;
}

/** Every tool of the Workbench. A tray offers some of them. */
export const TOOLS = {
  move: { fields: ['file', 'directory'], run: runMove },
  rename: { fields: ['file', 'name'], run: runRename },
  copy: { fields: ['file', 'directory', 'name'], run: runCopy },
  delete: { fields: ['file'], run: runDelete },
  report: { fields: ['value'], run: (world, [value = '']) => putOutValue(world, 'report', value) },
  answer: { fields: ['value'], run: (world, [value = '']) => putOutValue(world, 'answer', value) },
  print: { fields: ['file'], run: (world, [file = '']) => putOutFile(world, 'print', file) },
  zip: { fields: ['file'], run: (world, [file = '']) => putOutFile(world, 'zip', file) },
  share: { fields: ['file'], run: (world, [file = '']) => putOutFile(world, 'share', file) },
} as const satisfies Record<string, Tool>;

export type ToolName = keyof typeof TOOLS;
export const TOOL_NAMES = keysOf(TOOLS);

const done = (text: string): ToolOutcome => ({ ok: true, text: `done ${text}` });
const failed = (text: string): ToolOutcome => ({ ok: false, text: `failed ${text}` });

function runMove(world: World, [file = '', directory = '']: readonly string[]): ToolOutcome {
  const content = world.files.get(file);
  if (content === undefined) return failed(`no file ${file}`);
  if (!world.directories.includes(directory)) return failed(`no directory ${directory}`);
  if (content.directory === directory) return failed(`file ${file} is there already`);
  world.files.set(file, { ...content, directory });
  return done(`file ${file} into directory ${directory}`);
}

function runRename(world: World, [file = '', name = '']: readonly string[]): ToolOutcome {
  const content = world.files.get(file);
  if (content === undefined) return failed(`no file ${file}`);
  if (isTaken(world, name)) return failed(`${name} is taken`);
  world.files.delete(file);
  world.files.set(name, content);
  return done(`file ${file} to name ${name}`);
}

function runCopy(world: World, [file = '', directory = '', name = '']: readonly string[]): ToolOutcome {
  const content = world.files.get(file);
  if (content === undefined) return failed(`no file ${file}`);
  if (!world.directories.includes(directory)) return failed(`no directory ${directory}`);
  if (isTaken(world, name)) return failed(`${name} is taken`);
  world.files.set(name, { ...content, directory });
  return done(`file ${file} under directory ${directory} as name ${name}`);
}

function runDelete(world: World, [file = '']: readonly string[]): ToolOutcome {
  if (!world.files.delete(file)) return failed(`no file ${file}`);
  return done(`file ${file}`);
}

function putOutValue(world: World, tool: string, value: string): ToolOutcome {
  if (isTaken(world, value)) return failed(`${value} is no value`);
  world.outputs.push(`${tool} ${value}`);
  return done(`value ${value}`);
}

function putOutFile(world: World, tool: string, file: string): ToolOutcome {
  if (!world.files.has(file)) return failed(`no file ${file}`);
  world.outputs.push(`${tool} ${file}`);
  return done(`file ${file}`);
}

function isTaken(world: World, name: string): boolean {
  return world.files.has(name) || world.directories.includes(name);
}
