import type { EnvironmentDefinition } from '../contract.ts';
import { createWorkbench } from './environment.ts';
import { createOracle } from './oracle.ts';
import { createTask, WORKBENCH_CATALOG } from './tasks.ts';

/** A virtual computer without graphics: tools, files in directories, forms; five families of tasks. */
export const workbench: EnvironmentDefinition = {
  catalog: WORKBENCH_CATALOG,
  createTask,
  create: createWorkbench,
  createOracle,
};
