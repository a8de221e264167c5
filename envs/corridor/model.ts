import { z } from 'zod';
import { LabError } from '../../src/domain/error.ts';
import { formatTaskRef, type Task } from '../../src/domain/task.ts';
import { type NumericModel, type Transition } from '../classic/numeric.ts';

/** How many of the first observations show the cue. */
const CUE_STEPS = 2;
/** The gate stays shut for 0, 1 or 2 steps more. */
const DELAYS = 3;
/** Steps from the middle to an end. */
const REACH = 2;

const SIDES = ['left', 'right'] as const;
type Side = (typeof SIDES)[number];

/** A task's params: which end is right, and for how many steps after the cue the gate stays shut. */
const paramsSchema = z.strictObject({
  side: z.enum(SIDES),
  delay: z
    .int()
    .min(0)
    .max(DELAYS - 1),
});

export interface CorridorState {
  readonly side: Side;
  readonly delay: number;
  readonly steps: number;
  /** -REACH (left end) to REACH (right end). */
  readonly position: number;
}

const ON_THE_WAY = Object.freeze({ time: -1 });
const RIGHT_END = Object.freeze({ time: -1, success: 1 });
const WRONG_END = Object.freeze({ time: -1, wrong_end: -1 });

function isOpen({ steps, delay }: CorridorState): boolean {
  return steps >= CUE_STEPS + delay;
}

/** -1: the left end is right, 1: the right end is, 0: the cue is not shown any more. */
function cueOf({ steps, side }: CorridorState): number {
  if (steps >= CUE_STEPS) return 0;
  return side === 'left' ? -1 : 1;
}

/**
 * One step to the left (0) or to the right (1), which moves the agent only when the gate is open. The gate never is while
 * the cue shows: else the agent could lean to one side then, and its position would remember the cue for it.
 */
function advance(state: CorridorState, action: number): Transition<CorridorState> {
  const position = isOpen(state) ? state.position + (action === 0 ? -1 : 1) : state.position;
  const next = { ...state, steps: state.steps + 1, position };
  const terminated = Math.abs(position) === REACH;
  const success = terminated && position < 0 === (state.side === 'left');
  const ending = success ? RIGHT_END : WRONG_END;
  return { state: next, components: terminated ? ending : ON_THE_WAY, terminated, success };
}

function start(task: Task): CorridorState {
  const parsed = paramsSchema.safeParse(task.params);
  if (parsed.success) return { ...parsed.data, steps: 0, position: 0 };
  throw new LabError('environment-invalid', {
    message: `the params of task ${formatTaskRef(task)} are no corridor: ${z.prettifyError(parsed.error)}`,
    hint: 'make the task with createTask.',
    cause: parsed.error,
  });
}

/**
 * A task of memory. The six different tasks take turns, so that any six in a row have both sides and all delays alike: who
 * does not remember the cue cannot succeed in more than half of them.
 */
export const corridorModel: NumericModel<CorridorState> = {
  catalog: {
    env: 'corridor',
    version: '1',
    maxSteps: 30,
    families: [{ name: 'cue', train: 6000, heldOut: 600 }],
  },
  text: 'task walk to the end that the cue names when the gate is open',
  difficulty: 1,
  actions: SIDES,
  actionKind: 'direction',
  params: (index) => ({
    side: index % 2 === 0 ? 'left' : 'right',
    delay: Math.floor(index / 2) % DELAYS,
  }),
  start,
  advance,
  features: (state) => [cueOf(state), state.position / REACH, isOpen(state) ? 1 : 0],
  describe: (state) => {
    const cue = cueOf(state) === 0 ? 'gone' : state.side;
    return `cue ${cue}, gate ${isOpen(state) ? 'open' : 'shut'}, position ${state.position}`;
  },
};
