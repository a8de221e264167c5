import { createRandom } from '../../src/domain/random.ts';
import type { Task } from '../../src/domain/task.ts';
import { type NumericModel, shortNumber, type Transition } from './numeric.ts';

/** Cart and pole, float64. */
export interface CartPoleState {
  /** m from the middle of the track. */
  readonly position: number;
  /** m/s. */
  readonly velocity: number;
  /** rad from upright, clockwise. */
  readonly angle: number;
  /** rad/s. */
  readonly spin: number;
}

const GRAVITY = 9.8;
const CART_MASS = 1;
const POLE_MASS = 0.1;
const TOTAL_MASS = POLE_MASS + CART_MASS;
/** Half the pole's length, m: from the joint to its centre of mass. */
const POLE_ARM = 0.5;
const POLE_MOMENT = POLE_MASS * POLE_ARM;
/** N, either way. */
const FORCE = 10;
/** Seconds between two steps. */
const STEP_S = 0.02;
/** Beyond ±12° or ±2.4 m the episode is lost. */
const MAX_ANGLE = (12 * 2 * Math.PI) / 360;
const MAX_POSITION = 2.4;
/** Each number of the first state is uniform in ± this. */
const START_SPREAD = 0.05;

/** Number of the action that pushes to the right; the other pushes to the left. */
const RIGHT = 1;
const ALIVE = Object.freeze({ alive: 1 });

/**
 * One step of 0.02 s under a push (0 left, 1 right), by explicit Euler. The equations are those of Barto, Sutton and
 * Anderson, "Neuronlike adaptive elements …" (1983), without friction; their terms are grouped as in Gymnasium's
 * CartPole-v1, so that every rounding is the same. Pays `alive` 1 for each step, the last one too.
 */
export function advanceCartPole(
  { position, velocity, angle, spin }: CartPoleState,
  action: number,
): Transition<CartPoleState> {
  const force = action === RIGHT ? FORCE : -FORCE;
  const cos = Math.cos(angle);
  const sin = Math.sin(angle);
  const push = (force + POLE_MOMENT * (spin * spin) * sin) / TOTAL_MASS;
  const spinRate =
    (GRAVITY * sin - cos * push) / (POLE_ARM * (4 / 3 - (POLE_MASS * (cos * cos)) / TOTAL_MASS));
  const acceleration = push - (POLE_MOMENT * spinRate * cos) / TOTAL_MASS;
  const state = {
    position: position + STEP_S * velocity,
    velocity: velocity + STEP_S * acceleration,
    angle: angle + STEP_S * spin,
    spin: spin + STEP_S * spinRate,
  };
  const terminated = Math.abs(state.position) > MAX_POSITION || Math.abs(state.angle) > MAX_ANGLE;
  return { state, components: ALIVE, terminated, success: false };
}

/** The four numbers of the state in float32: Gymnasium's observation. */
export function cartPoleFeatures({ position, velocity, angle, spin }: CartPoleState): readonly number[] {
  return [Math.fround(position), Math.fround(velocity), Math.fround(angle), Math.fround(spin)];
}

/** CartPole-v1: 500 steps are all there is to win, and the sampler's limit says when they are over. */
export const cartPoleModel: NumericModel<CartPoleState> = {
  catalog: {
    env: 'cartpole',
    version: '1',
    maxSteps: 500,
    lasting: true,
    families: [{ name: 'balance', train: 10_000, heldOut: 500 }],
  },
  text: 'task keep the pole upright and the cart on the track for 500 steps',
  difficulty: 1,
  actions: ['left', 'right'],
  actionKind: 'push',
  params: () => ({}),
  start: (task: Task) => {
    const random = createRandom(task.seed);
    const draw = (): number => (2 * random.next() - 1) * START_SPREAD;
    return { position: draw(), velocity: draw(), angle: draw(), spin: draw() };
  },
  advance: advanceCartPole,
  features: cartPoleFeatures,
  describe: ({ position, velocity, angle, spin }) =>
    `x ${shortNumber(position, 100)} m, v ${shortNumber(velocity, 100)} m/s, angle ${shortNumber((angle * 180) / Math.PI, 10)}°, spin ${shortNumber(spin, 100)} rad/s`,
};
