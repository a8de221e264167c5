import type { Action, Observation } from '../../src/domain/space.ts';
import type { Task } from '../../src/domain/task.ts';
import type { EnvironmentDefinition } from '../contract.ts';
import { createRelay } from './environment.ts';
import { createRelayTask, paramsOf, RELAY_CATALOG, SPEAKER } from './tasks.ts';

/** Two agents: one knows which item is meant and may say a word a turn, the other sees the items and chooses. */
export const relay: EnvironmentDefinition = {
  catalog: RELAY_CATALOG,
  createTask: createRelayTask,
  create: createRelay,
  createOracle,
};

/** Says what the item is like, and chooses when one item alone is like what was heard. */
function createOracle(task: Task): (observation: Observation) => Action {
  const { items, meant } = paramsOf(task);
  return ({ agent, lines }) => {
    if (agent === SPEAKER) {
      const hasSpoken = lines.some((line) => line.startsWith('said '));
      const item = items[meant];
      return { type: 'input', argument: (hasSpoken ? item?.shape : item?.colour) ?? null };
    }
    const heard = lines
      .filter((line) => line.startsWith('heard '))
      .map((line) => line.slice('heard '.length));
    const like = items.filter(({ colour, shape }) =>
      heard.every((word) => word === colour || word === shape),
    );
    const [only] = like;
    return only !== undefined && like.length === 1
      ? { type: 'select_tool', argument: only.name }
      : { type: 'noop', argument: null };
  };
}
