import { expect, test } from 'vitest';
import { createGraph } from '../../../trainer/graph/graph.ts';
import type { Node } from '../../../trainer/graph/node.ts';
import { toModel } from '../../../trainer/graph/onnx-file.ts';
import { adamStep } from '../../../trainer/graph/optimiser.ts';
import { createSession, type SessionTensor } from '../../../trainer/session.ts';
import { floats, mismatches, values } from './gradient-check.ts';

const SHAPES = [[3, 2], [4]];
const SETTINGS = { epsilon: 1e-5, beta1: 0.9, beta2: 0.999, maxNorm: 0.5 };

/** torch.optim.Adam after torch.nn.utils.clip_grad_norm_, in float64. */
class ReferenceAdam {
  step = 0;
  readonly m: number[][];
  readonly v: number[][];
  readonly parameters: number[][];

  constructor(parameters: number[][]) {
    this.parameters = parameters;
    this.m = parameters.map((each) => each.map(() => 0));
    this.v = parameters.map((each) => each.map(() => 0));
  }

  update(gradients: number[][], learningRate: number): number {
    this.step++;
    const norm = Math.sqrt(gradients.flat().reduce((sum, each) => sum + each * each, 0));
    const clip = Math.min(1, SETTINGS.maxNorm / (norm + 1e-6));
    for (const [index, parameter] of this.parameters.entries()) {
      for (let i = 0; i < parameter.length; i++) {
        const gradient = gradients[index]![i]! * clip;
        this.m[index]![i] = SETTINGS.beta1 * this.m[index]![i]! + (1 - SETTINGS.beta1) * gradient;
        this.v[index]![i] = SETTINGS.beta2 * this.v[index]![i]! + (1 - SETTINGS.beta2) * gradient * gradient;
        const mean = this.m[index]![i]! / (1 - SETTINGS.beta1 ** this.step);
        const square = this.v[index]![i]! / (1 - SETTINGS.beta2 ** this.step);
        parameter[i]! -= (learningRate * mean) / (Math.sqrt(square) + SETTINGS.epsilon);
      }
    }
    return norm;
  }
}

test('Adam with clipping follows the formula for many steps, each run fed by the one before', async () => {
  const g = createGraph();
  const named = (kind: string): Node[] => SHAPES.map((shape, index) => g.parameter(`${kind}${index}`, shape));
  const gradients = SHAPES.map((shape, index) => g.input(`g${index}`, 'f32', shape));
  const step = adamStep(g, {
    ...SETTINGS,
    parameters: named('p'),
    m: named('m'),
    v: named('v'),
    gradients,
    learningRate: g.input('rate', 'f32', []),
    step: g.input('step', 'i32', []),
  });
  const outputs: Record<string, Node> = { norm: step.gradientNorm };
  for (const index of SHAPES.keys()) {
    outputs[`p${index}.next`] = step.parameters[index]!;
    outputs[`m${index}.next`] = step.m[index]!;
    outputs[`v${index}.next`] = step.v[index]!;
  }
  const session = await createSession(toModel(outputs), { threads: 1 });
  let state: Record<string, SessionTensor> = {};
  for (const [index, shape] of SHAPES.entries()) {
    state[`p${index}`] = floats(shape);
    state[`m${index}`] = floats(shape, () => 0);
    state[`v${index}`] = floats(shape, () => 0);
  }
  const reference = new ReferenceAdam(SHAPES.map((_, index) => values(state[`p${index}`])));
  const off: string[] = [];
  for (let number = 1; number <= 200; number++) {
    // Sometimes far over the largest norm, sometimes below it.
    const scale = number % 3 === 0 ? 0.01 : 2;
    const drawn = SHAPES.map((shape) => floats(shape, (i) => scale * Math.sin(number * 1.7 + i)));
    const rate = 0.01 / number;
    const results = await session.run({
      ...state,
      g0: drawn[0]!,
      g1: drawn[1]!,
      rate: floats([], () => rate),
      step: { dtype: 'i32', shape: [], data: Int32Array.of(number) },
    });
    const norm = reference.update(drawn.map(values), rate);
    off.push(...mismatches(values(results['norm']), [norm], 1e-6, `norm of step ${number}`));
    state = Object.fromEntries(Object.keys(state).map((name) => [name, results[`${name}.next`]!]));
    for (const index of SHAPES.keys()) {
      const got = { p: values(state[`p${index}`]), v: values(state[`v${index}`]) };
      off.push(
        ...mismatches(got.p, reference.parameters[index]!, 1e-5, `parameter ${index}, step ${number}`),
      );
      off.push(...mismatches(got.v, reference.v[index]!, 1e-6, `v ${index}, step ${number}`));
    }
  }
  expect(off).toEqual([]);
  await session.close();
});

test('gradients that do not fit their parameters are refused', () => {
  const g = createGraph();
  const p = g.parameter('p', [2]);
  const scalar = g.scalar(1);
  const options = { ...SETTINGS, parameters: [p], m: [p], v: [p], learningRate: scalar, step: scalar };
  expect(() => adamStep(g, { ...options, gradients: [] })).toThrow(
    'graph op "adamStep" on nothing: wanted f32[2] as number 0 of "gradients"',
  );
  expect(() => adamStep(g, { ...options, gradients: [g.parameter('odd', [3])] })).toThrow(
    'graph op "adamStep" on f32[3]: wanted f32[2] as number 0 of "gradients"',
  );
});
