import { createRandom } from '../../src/domain/random.ts';
import type { Action, Observation } from '../../src/domain/space.ts';
import type { Task } from '../../src/domain/task.ts';
import { type NumericModel, shortNumber, type Transition } from './numeric.ts';

/** Two links that hang from a joint; the joint between them is driven. float64. */
export interface AcrobotState {
  /** rad of the first link from hanging down, in [-π, π]. */
  readonly angle1: number;
  /** rad of the second link from the line of the first, in [-π, π]. */
  readonly angle2: number;
  /** rad/s, within ±4π. */
  readonly spin1: number;
  /** rad/s, within ±9π. */
  readonly spin2: number;
}

/** Time derivatives of the four numbers of a state, in their order. */
type Rates = readonly [number, number, number, number];

const GRAVITY = 9.8;
/** kg, of each link. */
const MASS = 1;
/** m, of each link. */
const LENGTH = 1;
/** m from a link's upper joint to its centre of mass. */
const ARM = 0.5;
/** kg m², of each link. */
const INERTIA = 1;
/** Seconds between two steps. */
const STEP_S = 0.2;
const MAX_SPIN1 = 4 * Math.PI;
const MAX_SPIN2 = 9 * Math.PI;
/** m above the upper joint that the free end has to pass. */
const GOAL_HEIGHT = 1;
/** Each number of the first state is uniform in ± this. */
const START_SPREAD = 0.1;

const PER_STEP = Object.freeze({ time: -1 });
const AT_THE_GOAL = Object.freeze({ time: 0 });

/**
 * One step of 0.2 s under a torque of `action` - 1 Nm, by one fourth-order Runge-Kutta step. Pays `time` -1 for each step,
 * 0 for the one that reaches the height. The result is Gymnasium's Acrobot-v1 with its dynamics of "the book".
 */
export function advanceAcrobot(from: AcrobotState, action: number): Transition<AcrobotState> {
  const { angle1, angle2, spin1, spin2 } = from;
  const torque = action - 1;
  const half = STEP_S / 2;
  const at = (rates: Rates, seconds: number): Rates =>
    ratesOf(
      angle1 + seconds * rates[0],
      angle2 + seconds * rates[1],
      spin1 + seconds * rates[2],
      spin2 + seconds * rates[3],
      torque,
    );
  const first = ratesOf(angle1, angle2, spin1, spin2, torque);
  const second = at(first, half);
  const third = at(second, half);
  const fourth = at(third, STEP_S);
  const change = (i: 0 | 1 | 2 | 3): number =>
    (STEP_S / 6) * (first[i] + 2 * second[i] + 2 * third[i] + fourth[i]);
  const state = {
    angle1: wrapAngle(angle1 + change(0)),
    angle2: wrapAngle(angle2 + change(1)),
    spin1: clamp(spin1 + change(2), MAX_SPIN1),
    spin2: clamp(spin2 + change(3), MAX_SPIN2),
  };
  const terminated = freeEndHeight(state) > GOAL_HEIGHT;
  return { state, components: terminated ? AT_THE_GOAL : PER_STEP, terminated, success: terminated };
}

/**
 * The equations of motion of Sutton and Barto, "Reinforcement Learning: An Introduction" (the figure on the acrobot), for
 * two equal links. Terms are grouped as Gymnasium evaluates them, so that every rounding is the same.
 */
function ratesOf(angle1: number, angle2: number, spin1: number, spin2: number, torque: number): Rates {
  const cos2 = Math.cos(angle2);
  const sin2 = Math.sin(angle2);
  const coupling = MASS * LENGTH * ARM;
  const d1 = MASS * ARM ** 2 + MASS * (LENGTH ** 2 + ARM ** 2 + 2 * LENGTH * ARM * cos2) + INERTIA + INERTIA;
  const d2 = MASS * (ARM ** 2 + LENGTH * ARM * cos2) + INERTIA;
  const phi2 = MASS * ARM * GRAVITY * Math.cos(angle1 + angle2 - Math.PI / 2);
  const phi1 =
    -coupling * (spin2 * spin2) * sin2 -
    2 * coupling * spin2 * spin1 * sin2 +
    (MASS * ARM + MASS * LENGTH) * GRAVITY * Math.cos(angle1 - Math.PI / 2) +
    phi2;
  const spinRate2 =
    (torque + (d2 / d1) * phi1 - coupling * (spin1 * spin1) * sin2 - phi2) /
    (MASS * ARM ** 2 + INERTIA - (d2 * d2) / d1);
  const spinRate1 = -(d2 * spinRate2 + phi1) / d1;
  return [spin1, spin2, spinRate1, spinRate2];
}

/** m of the free end above the upper joint, for links of 1 m. */
function freeEndHeight({ angle1, angle2 }: AcrobotState): number {
  return -Math.cos(angle1) - Math.cos(angle2 + angle1);
}

/** Whole turns away until the angle is in [-π, π]; one by one, since that is how the rounding has to be. */
function wrapAngle(angle: number): number {
  let wrapped = angle;
  while (wrapped > Math.PI) wrapped -= 2 * Math.PI;
  while (wrapped < -Math.PI) wrapped += 2 * Math.PI;
  return wrapped;
}

function clamp(value: number, limit: number): number {
  return Math.min(Math.max(value, -limit), limit);
}

/** cos and sin of both angles, then both spins, in float32: Gymnasium's observation. */
export function acrobotFeatures({ angle1, angle2, spin1, spin2 }: AcrobotState): readonly number[] {
  return [
    Math.fround(Math.cos(angle1)),
    Math.fround(Math.sin(angle1)),
    Math.fround(Math.cos(angle2)),
    Math.fround(Math.sin(angle2)),
    Math.fround(spin1),
    Math.fround(spin2),
  ];
}

/** Acrobot-v1. Gymnasium rounds the first state to float32, and goes on in float64. */
export const acrobotModel: NumericModel<AcrobotState> = {
  catalog: {
    env: 'acrobot',
    version: '1',
    maxSteps: 500,
    families: [{ name: 'swing_up', train: 10_000, heldOut: 500 }],
  },
  text: 'task swing the free end up to one link above the fixed joint',
  difficulty: 2,
  actions: ['-1', '0', '+1'],
  actionKind: 'torque',
  params: () => ({}),
  start: (task: Task) => {
    const random = createRandom(task.seed);
    const draw = (): number => Math.fround((2 * random.next() - 1) * START_SPREAD);
    return { angle1: draw(), angle2: draw(), spin1: draw(), spin2: draw() };
  },
  advance: advanceAcrobot,
  features: acrobotFeatures,
  describe: (state) =>
    `height ${shortNumber(freeEndHeight(state), 100)} m, link 1 ${shortNumber(state.angle1, 100)} rad ${shortNumber(state.spin1, 100)} rad/s, link 2 ${shortNumber(state.angle2, 100)} rad ${shortNumber(state.spin2, 100)} rad/s`,
};

/**
 * Torque against the turn of the first link, so that the second is thrown the other way and both swing ever higher. Found by
 * trying rules of this sort: this one solves all of the catalog's tasks, in 445 steps at most and 86 on average.
 */
export function createSwingUpPolicy(): (observation: Observation) => Action {
  return ({ features }) => ({ type: 'input', argument: (features?.[4] ?? 0) < 0 ? '+1' : '-1' });
}
