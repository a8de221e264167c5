import type { Environment, EnvironmentDefinition, StepResult } from '../../envs/contract.ts';
import { createRandom, type RandomStream } from '../../src/domain/random.ts';
import type { Action, Observation } from '../../src/domain/space.ts';

export const RING_AGENTS = ['ann', 'bob', 'cid'] as const;
type Agent = (typeof RING_AGENTS)[number];

const LEGAL = ['input', 'noop'] as const;
const CANDIDATES = [{ type: 'input', text: 'go', kind: 'word' }] as const;

/** Of an agent: how often it acted, and what the others have said since. */
interface Seat {
  acted: number;
  heard: number;
}

/**
 * Three agents whose turns come as the seed has it, the same one twice in a row at times. Each sees its own numbers alone; a step
 * pays whoever acted, others, both or nobody. `change` spoils what it gives.
 */
export function ring(
  change: (result: StepResult, steps: number) => StepResult = (result) => result,
): EnvironmentDefinition {
  return {
    catalog: {
      env: 'ring',
      version: '1',
      maxSteps: 12,
      agents: [...RING_AGENTS],
      families: [{ name: 'round', train: 1000, heldOut: 10 }],
    },
    createTask: (ref) => ({ ...ref, seed: ref.index, difficulty: 1, text: 'task go round', params: {} }),
    create: () => createRing(change),
  };
}

function createRing(change: (result: StepResult, steps: number) => StepResult): Environment {
  let seats = new Map<string, Seat>();
  let random: RandomStream = createRandom(0);
  let turn: Agent = 'ann';
  let steps = 0;
  const look = (agent: string): Observation => {
    const { acted, heard } = seats.get(agent) ?? { acted: -1, heard: -1 };
    return {
      agent,
      lines: ['task go round', `${agent} acted ${acted} times and heard ${heard}`],
      legal: LEGAL,
      candidates: CANDIDATES,
      features: [acted, heard],
    };
  };
  return {
    reset(_task, seed) {
      seats = new Map(RING_AGENTS.map((agent) => [agent, { acted: 0, heard: 0 }]));
      random = createRandom(seed);
      turn = random.pick(RING_AGENTS);
      steps = 0;
      return look(turn);
    },
    step(action: Action) {
      steps++;
      for (const [agent, seat] of seats) {
        if (agent === turn) seat.acted++;
        else if (action.type === 'input') seat.heard++;
      }
      const others = RING_AGENTS.filter((agent) => agent !== turn && random.next() < 0.4);
      const paid = Object.fromEntries(others.map((agent) => [agent, { gift: 1 + random.integer(4) }]));
      const components = random.next() < 0.5 ? { own: 1 + random.integer(4) } : {};
      const terminated = random.next() < 0.08;
      turn = random.pick(RING_AGENTS);
      return change(
        {
          observation: look(turn),
          components,
          ...(others.length === 0 ? {} : { paid }),
          terminated,
          success: terminated,
          failure: null,
          effective: action.type === 'input',
        },
        steps,
      );
    },
    look,
    getState: () => ({ seats: [...seats], turn, steps, random: random.getState() }),
    fullReset: () => undefined,
    close: () => undefined,
  };
}

/** Whole numbers, so that sums are exact. */
export const RING_REWARDS = {
  own: { weight: 1, cap: null },
  gift: { weight: 1, cap: null },
  repeat: { weight: -1, cap: null },
  tool_switch: { weight: -1, cap: null },
  type_switch: { weight: -2, cap: null },
};
