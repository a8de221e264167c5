import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { acrobotFeatures, acrobotModel, advanceAcrobot } from '../../../envs/classic/acrobot.ts';
import { advanceCartPole, cartPoleFeatures } from '../../../envs/classic/cartpole.ts';
import type { Transition } from '../../../envs/classic/numeric.ts';

/*
 * What Gymnasium 1.4.0 did, recorded by test/reference/classic_traces.py, is repeated from the recorded states: equal to the
 * last bit of float32. Inside, in float64, the last bits of sines differ between numpy and V8.
 */

const traceSchema = z.object({
  seed: z.int(),
  policy: z.string(),
  start: z.tuple([z.number(), z.number(), z.number(), z.number()]),
  actions: z.array(z.int()).min(1),
  observations: z.array(z.array(z.number())),
  rewards: z.array(z.number()),
  terminated: z.boolean(),
});
type Trace = z.infer<typeof traceSchema>;

const { cartpole, acrobot } = z
  .object({ cartpole: z.array(traceSchema), acrobot: z.array(traceSchema) })
  .parse(JSON.parse(readFileSync('test/reference/classic-traces.json', 'utf8')));

interface Replayed<State> {
  readonly states: readonly State[];
  readonly observations: readonly (readonly number[])[];
  readonly rewards: readonly number[];
  readonly terminated: readonly boolean[];
}

function replay<State>(
  start: State,
  actions: readonly number[],
  advance: (state: State, action: number) => Transition<State>,
  features: (state: State) => readonly number[],
): Replayed<State> {
  const transitions: Transition<State>[] = [];
  for (const action of actions) transitions.push(advance(transitions.at(-1)?.state ?? start, action));
  const states = [start, ...transitions.map(({ state }) => state)];
  return {
    states,
    observations: states.map(features),
    rewards: transitions.map(({ components }) =>
      Object.values(components).reduce((sum, raw) => sum + raw, 0),
    ),
    terminated: transitions.map(({ terminated }) => terminated),
  };
}

const replayCartPole = ({ start, actions }: Trace) => {
  const [position, velocity, angle, spin] = start;
  return replay({ position, velocity, angle, spin }, actions, advanceCartPole, cartPoleFeatures);
};

const replayAcrobot = ({ start, actions }: Trace) => {
  const [angle1, angle2, spin1, spin2] = start;
  return replay({ angle1, angle2, spin1, spin2 }, actions, advanceAcrobot, acrobotFeatures);
};

/** What a replay has to give to be the recording. */
function recorded({ observations, rewards, actions, terminated }: Trace): Omit<Replayed<unknown>, 'states'> {
  return {
    observations: observations.map((numbers) => numbers.map(Math.fround)),
    rewards,
    terminated: actions.map((_, i) => terminated && i === actions.length - 1),
  };
}

describe('CartPole-v1 as Gymnasium runs it', () => {
  test.each(cartpole)('$policy, seed $seed, from $start', (trace) => {
    expect(replayCartPole(trace)).toMatchObject(recorded(trace));
  });

  test('the traces end at both ends of the track and with the pole on both sides', () => {
    const last = cartpole
      .filter(({ terminated }) => terminated)
      .map(({ observations }) => observations.at(-1)!);
    expect(last.some(([x]) => x! > 2.4)).toBe(true);
    expect(last.some(([x]) => x! < -2.4)).toBe(true);
    expect(last.some(([, , angle]) => angle! > 0.2095)).toBe(true);
    expect(last.some(([, , angle]) => angle! < -0.2095)).toBe(true);
  });

  test('a difference in the eighth decimal of the start is seen', () => {
    const trace = cartpole[0]!;
    const [x, ...rest] = trace.start;
    expect(replayCartPole({ ...trace, start: [x + 1e-8, ...rest] }).observations).not.toEqual(
      replayCartPole(trace).observations,
    );
  });
});

describe('Acrobot-v1 as Gymnasium runs it', () => {
  test.each(acrobot)('$policy, seed $seed, from $start', (trace) => {
    expect(replayAcrobot(trace)).toMatchObject(recorded(trace));
  });

  test('the traces have whole turns, both limits of the spins, and ends at the height', () => {
    const states = acrobot.flatMap((trace) => replayAcrobot(trace).states);
    const has = (is: (state: (typeof states)[number]) => boolean): boolean => states.some(is);
    expect(has(({ spin1 }) => spin1 === 4 * Math.PI)).toBe(true);
    expect(has(({ spin1 }) => spin1 === -4 * Math.PI)).toBe(true);
    expect(has(({ spin2 }) => spin2 === 9 * Math.PI)).toBe(true);
    expect(has(({ spin2 }) => spin2 === -9 * Math.PI)).toBe(true);
    // A step of half a turn or more in the angle itself: it was wrapped.
    const jumps = acrobot.flatMap((trace) => {
      const angles = replayAcrobot(trace).states.map(({ angle2 }) => angle2);
      return angles.slice(1).map((angle, i) => angle - angles[i]!);
    });
    expect(Math.max(...jumps)).toBeGreaterThan(Math.PI);
    expect(Math.min(...jumps)).toBeLessThan(-Math.PI);
    expect(acrobot.filter(({ terminated }) => terminated).length).toBeGreaterThan(5);
    expect(acrobot.every(({ rewards, terminated }) => !terminated || rewards.at(-1) === 0)).toBe(true);
  });

  test('the first state of a task is a float32, as Gymnasium makes it', () => {
    for (let index = 0; index < 50; index++) {
      const task = { env: 'acrobot', family: 'swing_up', split: 'train', index } as const;
      const state = acrobotModel.start({ ...task, seed: index, difficulty: 2, text: '', params: {} });
      expect(Object.values(state)).toEqual(Object.values(state).map(Math.fround));
    }
  });
});
