import type { Action, Observation } from '../../src/domain/space.ts';
import type { Task } from '../../src/domain/task.ts';
import { scenarioOf } from './tasks.ts';

/** The shortest solution of a task, in order: what must be read, the jobs, the submit. */
export function solve(task: Task): readonly Action[] {
  const { reads, jobs } = scenarioOf(task);
  return [
    ...reads.map((argument): Action => ({ type: 'read', argument })),
    ...jobs.flatMap((job): Action[] => [
      { type: 'select_tool', argument: job.tool },
      ...job.arguments.map((argument): Action => ({ type: 'input', argument })),
      { type: 'confirm', argument: null },
    ]),
    { type: 'submit', argument: null },
  ];
}

/** A policy that takes the shortest solution, from the start of an episode. */
export function createOracle(task: Task): (observation: Observation) => Action {
  const actions = solve(task);
  let next = 0;
  return () => actions[next++] ?? { type: 'submit', argument: null };
}
