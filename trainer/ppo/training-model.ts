import { actionLayout, type PolicySpec } from '../../src/domain/policy-spec.ts';
import { recordOf } from '../../src/domain/table.ts';
import { differentiate } from '../graph/differentiate.ts';
import { createGraph, type Graph } from '../graph/graph.ts';
import type { Node } from '../graph/node.ts';
import { toModel } from '../graph/onnx-file.ts';
import { add, mul } from '../graph/ops.ts';
import { adamStep } from '../graph/optimiser.ts';
import { buildNetwork, type NetworkInputs, networkInputs } from '../policy/network.ts';
import { parameterShapes } from '../policy/parameters.ts';
import { buildLosses, LOSS_KNOBS, type Losses } from './losses.ts';

/** The losses that the gradient model puts out beside the gradients, scalars. */
export const LOSS_OUTPUTS = [
  'loss',
  'policyLoss',
  'valueLoss',
  'entropy',
  'kl',
  'clipFraction',
  'ratioDeviation',
] as const satisfies readonly (keyof Losses)[];
export type LossOutput = (typeof LOSS_OUTPUTS)[number];

export interface OptimiserSettings {
  /** Largest global norm of the gradients. */
  readonly gradientNorm: number;
  readonly adamEpsilon: number;
}

/**
 * The gradients of a part of a minibatch. Inputs: B samples (`tokens`, `candidates`, `mask`, `actions`,
 * `oldLogProbabilities`, `advantages`, `returns`), `share` (the part's share of the minibatch), `knob.…` and the parameters.
 * Outputs: `gradient.PARAMETER`, multiplied by the share so that the parts' gradients add up, and the losses of the part.
 */
export function gradientModel(spec: PolicySpec): Uint8Array {
  const g = createGraph();
  const names = parameterShapes(spec).map(({ name }) => name);
  const inputs = networkInputs(g, spec);
  const losses = buildTrainingLosses(g, spec, inputs);
  const gradients = differentiate(
    g,
    mul(g, losses.loss, g.input('share', 'f32', [])),
    names.map((name) => inputs.parameters[name]),
  );
  const outputs: Record<string, Node> = { ...losses };
  for (const [place, gradient] of gradients.entries()) outputs[`gradient.${names[place]}`] = gradient;
  return toModel(outputs);
}

/**
 * Clipping by the global norm and one step of Adam (β 0.9, 0.999). Inputs: `gradient.PART.PARAMETER` for each part, which
 * are added up, `knob.lr`, `step` (from 1), and each parameter with its moments `m.PARAMETER`, `v.PARAMETER`. Outputs:
 * `next.PARAMETER`, `next.m.PARAMETER`, `next.v.PARAMETER`, and the `gradientNorm` before clipping.
 */
export function optimiserModel(spec: PolicySpec, settings: OptimiserSettings, parts: number): Uint8Array {
  const g = createGraph();
  const shapes = parameterShapes(spec);
  const inputs = (prefix: string): Node[] =>
    shapes.map(({ name, shape }) => g.parameter(`${prefix}${name}`, shape));
  const partial = Array.from({ length: parts }, (_, part) => inputs(`gradient.${part}.`));
  const step = adamStep(g, {
    parameters: inputs(''),
    gradients: partial.reduce((left, right) => left.map((node, place) => add(g, node, right[place] ?? node))),
    m: inputs('m.'),
    v: inputs('v.'),
    learningRate: g.input('knob.lr', 'f32', []),
    step: g.input('step', 'f32', []),
    epsilon: settings.adamEpsilon,
    beta1: 0.9,
    beta2: 0.999,
    maxNorm: settings.gradientNorm,
  });
  const outputs: Record<string, Node> = { gradientNorm: step.gradientNorm };
  for (const [place, { name }] of shapes.entries()) {
    const [parameter, m, v] = [step.parameters[place], step.m[place], step.v[place]];
    if (parameter === undefined || m === undefined || v === undefined) continue;
    outputs[`next.${name}`] = parameter;
    outputs[`next.m.${name}`] = m;
    outputs[`next.v.${name}`] = v;
  }
  return toModel(outputs);
}

/** The losses over the network, their inputs under their usual names. */
export function buildTrainingLosses(g: Graph, spec: PolicySpec, inputs: NetworkInputs): Losses {
  const { size } = actionLayout(spec);
  const samples = {
    actions: g.input('actions', 'i32', ['B']),
    oldLogProbabilities: g.input('oldLogProbabilities', 'f32', ['B', size]),
    advantages: g.input('advantages', 'f32', ['B']),
    returns: g.input('returns', 'f32', ['B']),
  };
  const knobs = recordOf(LOSS_KNOBS, (name) => g.input(`knob.${name}`, 'f32', []));
  return buildLosses(g, buildNetwork(g, spec, inputs), samples, knobs);
}
