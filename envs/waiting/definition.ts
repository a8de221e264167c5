import type { Action, Observation } from '../../src/domain/space.ts';
import type { EnvironmentDefinition } from '../contract.ts';
import { createWaiting } from './environment.ts';
import { createWaitingTask, WAITING_CATALOG } from './tasks.ts';

/** Tools that take their time: the agent calls the one that is asked for, and waits. */
export const waiting: EnvironmentDefinition = {
  catalog: WAITING_CATALOG,
  createTask: createWaitingTask,
  create: createWaiting,
  createOracle: () => answer,
};

/** The tool that the screen names. */
function answer({ lines }: Observation): Action {
  return { type: 'select_tool', argument: lines[1]?.split(' ').at(-1) ?? null };
}
