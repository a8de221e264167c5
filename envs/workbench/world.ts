import type { Job, Scenario, ScenarioFile } from './scenario.ts';
import { TOOLS, type ToolOutcome } from './tools.ts';

/** The virtual computer's disk and what its tools have put out. */
export interface World {
  /**
   * Each file by its present name, which is unique in the whole computer. What it maps to has the present directory and
   * the content; its `name` stays that of the file it was made from, so that a copy of the wrong file is told apart.
   */
  readonly files: Map<string, ScenarioFile>;
  /** So few that a list is searched faster than a set is made; no tool changes it. */
  readonly directories: readonly string[];
  /** What tools have put out beside files, in order: `report bakel`. */
  readonly outputs: string[];
  /** Every run that did something, in order: `move bakel tovis`. */
  readonly runs: string[];
}

/** The computer as the task finds it. */
export function createWorld(scenario: Scenario): World {
  const files = new Map<string, ScenarioFile>();
  for (const file of scenario.files) files.set(file.name, file);
  return { files, directories: scenario.directories, outputs: [], runs: [] };
}

/** Runs a tool with a value for each of its fields. A run that fails changes nothing. */
export function runTool(world: World, job: Job): ToolOutcome {
  const outcome = TOOLS[job.tool].run(world, job.arguments);
  if (outcome.ok) world.runs.push(formatRun(job));
  return outcome;
}

/** How a run is written down in `World.runs`. */
export function formatRun(job: Job): string {
  return [job.tool, ...job.arguments].join(' ');
}

/** Whether the computer is just as the scenario's jobs would have left it: all of it done, and nothing else. */
export function reachesGoal(world: World, scenario: Scenario): boolean {
  // As it was found: nothing is done.
  if (world.runs.length === 0 && scenario.jobs.length > 0) return false;
  const goal = createWorld(scenario);
  for (const job of scenario.jobs) runTool(goal, job);
  if (world.files.size !== goal.files.size || world.outputs.length !== goal.outputs.length) return false;
  for (const [name, wanted] of goal.files) {
    const file = world.files.get(name);
    if (file?.directory !== wanted.directory || file.name !== wanted.name) return false;
  }
  return goal.outputs.every((output, index) => world.outputs[index] === output);
}
